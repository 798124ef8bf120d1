"""Logs in SQLite: a row for each and for each of its entries."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import aclosing
from functools import partial

from .backend import Key, LogEntry
from .following import Page, follow_pages
from .keys import join
from .sqlite_file import NEXT_REVISION, PAGE, POLL_S, SWEPT, SqliteFile


class SqliteLogs(SqliteFile):
    """The logs of a `SqliteBackend`."""

    async def append(
        self,
        tenant: str,
        log: Key,
        values: Sequence[bytes],
        *,
        after: int | None = None,
        ttl_s: float | None = None,
    ) -> int | None:
        def write(connection: sqlite3.Connection) -> int | None:
            last = self._last(connection, tenant, join(log))
            if after not in (None, last):
                return None
            if values:
                self._append(connection, tenant, join(log), last, values, ttl_s)
            return last + len(values)

        return await self._write(write)

    async def read(
        self, tenant: str, log: Key, *, after: int = 0, limit: int | None = None
    ) -> list[LogEntry]:
        return (await self._run(partial(self._page, tenant, join(log), after, limit))).entries

    async def follow(self, tenant: str, log: Key, *, after: int = 0) -> AsyncIterator[LogEntry]:
        def look(seen: int) -> Awaitable[Page]:
            self._written.clear()
            return self._run(partial(self._page, tenant, join(log), seen, PAGE))

        async with aclosing(follow_pages(look, partial(self._until_written, POLL_S), after)) as entries:
            async for entry in entries:
                yield entry

    async def drop(self, tenant: str, log: Key) -> None:
        await self._write(lambda connection: _drop(connection, tenant, join(log)))

    def _last(self, connection: sqlite3.Connection, tenant: str, log: str) -> int:
        """How long a log is; the rest of one that has expired is removed."""
        row = connection.execute(
            "SELECT last, expires_at FROM log WHERE tenant = ? AND log = ?", (tenant, log)
        ).fetchone()
        if row is None:
            return 0
        if row[1] is not None and row[1] <= self._clock.wall():
            _drop(connection, tenant, log)
            return 0
        return int(row[0])

    def _append(
        self,
        connection: sqlite3.Connection,
        tenant: str,
        log: str,
        last: int,
        values: Sequence[bytes],
        ttl_s: float | None,
    ) -> None:
        now = self._clock.wall()
        if last == 0:
            incarnation = connection.execute(NEXT_REVISION).fetchone()[0]
            connection.execute(
                "INSERT INTO log (tenant, log, last, incarnation) VALUES (?, ?, 0, ?)",
                (tenant, log, incarnation),
            )
        connection.executemany(
            "INSERT INTO entry VALUES (?, ?, ?, ?)",
            [(tenant, log, last + number, value) for number, value in enumerate(values, 1)],
        )
        connection.execute(
            "UPDATE log SET last = ?, expires_at = coalesce(?, expires_at) WHERE tenant = ? AND log = ?",
            (last + len(values), None if ttl_s is None else now + ttl_s, tenant, log),
        )
        _sweep(connection, now, SWEPT + 2 * len(values))

    def _page(
        self, tenant: str, log: str, after: int, limit: int | None, connection: sqlite3.Connection
    ) -> Page:
        """In one statement, which sees one moment."""
        rows = connection.execute(
            "SELECT incarnation, last, seq, value FROM log LEFT JOIN entry"
            " ON entry.tenant = log.tenant AND entry.log = log.log AND entry.seq > ?"
            " WHERE log.tenant = ? AND log.log = ? AND (expires_at IS NULL OR expires_at > ?)"
            " ORDER BY seq LIMIT ?",
            (after, tenant, log, self._clock.wall(), -1 if limit is None else limit),
        ).fetchall()
        if not rows:
            return Page()
        return Page(rows[0][0], rows[0][1], [LogEntry(*row[2:]) for row in rows if row[2] is not None])


def _drop(connection: sqlite3.Connection, tenant: str, log: str) -> None:
    for table in ("entry", "log"):
        connection.execute(f"DELETE FROM {table} WHERE tenant = ? AND log = ?", (tenant, log))


def _sweep(connection: sqlite3.Connection, now: float, at_most: int) -> None:
    """Remove so many entries of logs that have expired, and with its last ones a log."""
    while at_most > 0:
        found = connection.execute(
            "SELECT tenant, log FROM log WHERE expires_at <= ? ORDER BY expires_at LIMIT 1", (now,)
        ).fetchone()
        if found is None:
            return
        removed = connection.execute(
            "DELETE FROM entry WHERE (tenant, log, seq) IN"
            " (SELECT tenant, log, seq FROM entry WHERE tenant = ? AND log = ? LIMIT ?)",
            (*found, at_most),
        ).rowcount
        if removed < at_most:
            connection.execute("DELETE FROM log WHERE tenant = ? AND log = ?", found)
        else:  # a clock that is set back must not show the rest
            connection.execute("UPDATE log SET expires_at = 0 WHERE tenant = ? AND log = ?", found)
        at_most -= removed + 1
