"""Logs in PostgreSQL: a row for each and for each of its entries."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import aclosing
from functools import partial
from typing import Any, Final

from .backend import Key, LogEntry
from .following import Page, follow_pages
from .in_time import in_time
from .keys import escape, join
from .postgres_pool import PAGE, SWEPT, UNTIL, PostgresPool, digest, ring, within_limit

_LIVES: Final = "(log.expires_at IS NULL OR log.expires_at > clock_timestamp())"


class PostgresLogs(PostgresPool):
    """The logs of a `PostgresBackend`."""

    @in_time
    async def append(
        self,
        tenant: str,
        log: Key,
        values: Sequence[bytes],
        *,
        after: int | None = None,
        ttl_s: float | None = None,
    ) -> int | None:
        name, owner = join(log), escape(tenant)

        async def write(connection: Any) -> int | None:
            last = await _locked_last(connection, owner, name, begin=bool(values) and not after)
            if after not in (None, last):
                return None
            if values:
                await _add_entries(connection, owner, name, last, values, ttl_s)
            return last + len(values)

        return await self._in_transaction(tenant, write)

    @in_time
    async def read(
        self, tenant: str, log: Key, *, after: int = 0, limit: int | None = None
    ) -> list[LogEntry]:
        return (await self._page(tenant, join(log), after, limit)).entries

    async def follow(self, tenant: str, log: Key, *, after: int = 0) -> AsyncIterator[LogEntry]:
        async with self._bell.listening(digest(tenant, "log", join(log))) as rung:

            def look(seen: int) -> Awaitable[Page]:
                rung.clear()
                return self._page(tenant, join(log), seen, PAGE)

            async with aclosing(follow_pages(look, partial(self._rung, rung), after)) as entries:
                async for entry in entries:
                    yield entry

    @in_time
    async def drop(self, tenant: str, log: Key) -> None:
        async def write(connection: Any) -> None:
            await _drop(connection, escape(tenant), join(log))
            await ring(connection, digest(tenant, "log", join(log)))

        await self._in_transaction(tenant, write)

    @in_time
    async def _page(self, tenant: str, log: str, after: int, limit: int | None) -> Page:
        """In one statement, which sees one moment."""
        rows = await self._rows(
            tenant,
            "SELECT incarnation, last, seq, value FROM log LEFT JOIN entry"
            " ON entry.tenant = log.tenant AND entry.log = log.log AND entry.seq > $3"
            f" WHERE log.tenant = $1 AND log.log = $2 AND {_LIVES} ORDER BY seq LIMIT $4",
            *(log, after, limit),
        )
        if not rows:
            return Page()
        entries = [LogEntry(row["seq"], row["value"]) for row in rows if row["seq"] is not None]
        return Page(rows[0]["incarnation"], rows[0]["last"], entries)


async def _locked_last(connection: Any, tenant: str, log: str, *, begin: bool) -> int:
    """How long a log is, which nobody else changes in this transaction. `begin`: make it if there is none."""
    if begin:
        await connection.execute(
            "INSERT INTO log (tenant, log) VALUES ($1, $2)"
            " ON CONFLICT (tenant, log) DO UPDATE SET tenant = excluded.tenant",
            *(tenant, log),
        )
    row = await connection.fetchrow(
        f"SELECT last, {_LIVES} AS lives FROM log WHERE tenant = $1 AND log = $2 FOR UPDATE", tenant, log
    )
    if row is not None and row["lives"]:
        return int(row["last"])
    if begin:
        await _begin_again(connection, tenant, log)
    return 0


async def _begin_again(connection: Any, tenant: str, log: str) -> None:
    await connection.execute("DELETE FROM entry WHERE tenant = $1 AND log = $2", tenant, log)
    await connection.execute(
        "UPDATE log SET last = 0, incarnation = nextval('revision'), expires_at = NULL"
        " WHERE tenant = $1 AND log = $2",
        *(tenant, log),
    )


async def _drop(connection: Any, tenant: str, log: str) -> None:
    for table in ("log", "entry"):
        await connection.execute(f"DELETE FROM {table} WHERE tenant = $1 AND log = $2", tenant, log)


async def _add_entries(
    connection: Any, tenant: str, log: str, last: int, values: Sequence[bytes], ttl_s: float | None
) -> None:
    await connection.executemany(
        "INSERT INTO entry VALUES ($1, $2, $3, $4)",
        [(tenant, log, last + number, within_limit(value)) for number, value in enumerate(values, 1)],
    )
    await connection.execute(
        "WITH done AS (UPDATE log SET last = $3,"
        f" expires_at = coalesce({UNTIL.format('$4::float8')}, expires_at)"
        " WHERE tenant = $1 AND log = $2 RETURNING last) SELECT sweep($5) FROM done",
        *(tenant, log, last + len(values), ttl_s, SWEPT + 2 * len(values)),
    )
    await ring(connection, hashlib.sha256("\0".join((tenant, "log", log)).encode()).hexdigest())
