"""`postgresql://`: records, logs and work in PostgreSQL 13 or newer, with asyncpg.

Each call is one transaction that names its tenant, and row-level security, forced by the migration, shows
that tenant's rows only; a role that could bypass it is refused. Jobs are claimed with `SKIP LOCKED`. Waiting
is woken by LISTEN on a connection of its own: everybody may listen, so a notification carries a digest only.
Time is the server's. What was acknowledged is on disk unless `synchronous_commit` is off.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing
from functools import partial
from typing import Any, Final, TypeVar

from ..clock import Clock, SystemClock
from ..errors import ConfigurationError, StoreError
from .backend import Job, Key, LogEntry, Record
from .extras import load_driver
from .following import Page, follow_pages
from .keys import escape, join, split
from .postgres_bell import Bell
from .postgres_migrations import SCHEMA

T = TypeVar("T")

PAGE: Final = 256
_LIVE: Final = "(record.expires_at IS NULL OR record.expires_at > clock_timestamp())"
_LOG_LIVES: Final = "(log.expires_at IS NULL OR log.expires_at > clock_timestamp())"
_UNTIL: Final = "clock_timestamp() + make_interval(secs => {})"


class PostgresBackend:
    """A `Backend` in PostgreSQL (`pip install seamstream[postgres]`). `migrate` must have been run before."""

    def __init__(self, url: str, *, max_connections: int = 10, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._url = url
        self._driver = load_driver("asyncpg", "postgres")
        self._errors = (self._driver.PostgresError, self._driver.InterfaceError, OSError, TimeoutError)
        self._max_connections = max_connections
        self._pool: Any = None
        self._bell = Bell(self._connect, self._errors)

    async def open(self) -> PostgresBackend:
        """Connect, and refuse (ConfigurationError) a role that row-level security does not bind."""
        try:
            self._pool = await self._driver.create_pool(
                self._url,
                min_size=1,
                max_size=self._max_connections,
                server_settings={"search_path": SCHEMA},
            )
            await self._check()
        except self._errors as error:
            await self.aclose()
            raise StoreError(f"PostgreSQL cannot be reached: {error}") from error
        except ConfigurationError:
            await self.aclose()
            raise
        return self

    # ---------------------------------------------------------------- records

    async def get(self, tenant: str, key: Key) -> Record | None:
        row = await self._row(
            tenant,
            f"SELECT value, revision FROM record WHERE tenant = $1 AND key = $2 AND {_LIVE}",
            join(key),
        )
        return None if row is None else Record(row["value"], row["revision"])

    async def put(self, tenant: str, key: Key, value: bytes, *, ttl_s: float | None = None) -> int:
        row = await self._row(tenant, _upsert(""), join(key), value, ttl_s)
        return int(row["revision"])

    async def compare_and_set(
        self, tenant: str, key: Key, value: bytes, *, revision: int, ttl_s: float | None = None
    ) -> int | None:
        if revision == 0:
            row = await self._row(tenant, _upsert(f"WHERE NOT {_LIVE}"), join(key), value, ttl_s)
        else:
            row = await self._row(
                tenant,
                "UPDATE record SET value = $3, revision = nextval('revision'),"
                f" expires_at = {_UNTIL.format('$4::float8')}"
                f" WHERE tenant = $1 AND key = $2 AND revision = $5 AND {_LIVE} RETURNING revision",
                *(join(key), value, ttl_s, revision),
            )
        return None if row is None else int(row["revision"])

    async def delete(self, tenant: str, key: Key, *, revision: int | None = None) -> bool:
        row = await self._row(
            tenant,
            "DELETE FROM record WHERE tenant = $1 AND key = $2 AND ($3::bigint IS NULL OR revision = $3)"
            f" RETURNING {_LIVE} AS live",
            *(join(key), revision),
        )
        return bool(row is not None and row["live"])

    async def scan(self, tenant: str, prefix: Key = ()) -> AsyncIterator[tuple[Key, Record]]:
        start, last = join(prefix), ""
        while True:
            rows = await self._rows(
                tenant,
                "SELECT key, value, revision FROM record WHERE tenant = $1 AND key > $2"
                " AND ($3 = '' OR key = $3 OR (key >= $3 || '.' AND key < $3 || '/'))"
                f" AND {_LIVE} ORDER BY key LIMIT $4",
                *(last, start, PAGE),
            )
            for row in rows:
                last = row["key"]
                yield split(last), Record(row["value"], row["revision"])
            if len(rows) < PAGE:
                return

    # ---------------------------------------------------------------- logs

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

    async def read(
        self, tenant: str, log: Key, *, after: int = 0, limit: int | None = None
    ) -> list[LogEntry]:
        return (await self._page(tenant, join(log), after, limit)).entries

    async def follow(self, tenant: str, log: Key, *, after: int = 0) -> AsyncIterator[LogEntry]:
        async with self._bell.listening(digest(tenant, "log", join(log))) as rung:

            def look(seen: int) -> Awaitable[Page]:
                rung.clear()
                return self._page(tenant, join(log), seen, PAGE)

            async with aclosing(follow_pages(look, partial(self._bell.wait, rung), after)) as entries:
                async for entry in entries:
                    yield entry

    async def drop(self, tenant: str, log: Key) -> None:
        async def write(connection: Any) -> None:
            await _drop(connection, escape(tenant), join(log))
            await _ring(connection, digest(tenant, "log", join(log)))

        await self._in_transaction(tenant, write)

    # ---------------------------------------------------------------- work

    async def enqueue(self, tenant: str, queue: str, body: bytes, *, delay_s: float = 0.0) -> str:
        job_id = self._clock.uuid()

        async def write(connection: Any) -> None:
            await connection.execute(
                "INSERT INTO job (tenant, queue, id, body, due_at)"
                f" VALUES ($1, $2, $3, $4, {_UNTIL.format('$5::float8')})",
                *(escape(tenant), escape(queue), job_id, body, delay_s),
            )
            await _ring(connection, digest(tenant, "queue", queue))

        await self._in_transaction(tenant, write)
        return job_id

    async def claim(self, tenant: str, queue: str, *, lease_s: float, wait_s: float = 0.0) -> Job | None:
        loop = asyncio.get_running_loop()
        until, token = loop.time() + wait_s, self._clock.uuid()
        async with self._bell.listening(digest(tenant, "queue", queue), wanted=wait_s > 0) as rung:
            while True:
                rung.clear()
                job, next_s = await self._in_transaction(
                    tenant,
                    lambda connection: _claim(connection, escape(tenant), escape(queue), lease_s, token),
                )
                left = until - loop.time()
                if job is not None or left <= 0:
                    return job
                await self._bell.wait(rung, min(left, next_s if next_s is not None else left))

    async def extend(self, tenant: str, queue: str, job: Job, *, lease_s: float) -> bool:
        return await self._due_again(tenant, queue, job, lease_s, keep=True)

    async def release(self, tenant: str, queue: str, job: Job, *, delay_s: float = 0.0) -> bool:
        return await self._due_again(tenant, queue, job, delay_s, keep=False)

    async def ack(self, tenant: str, queue: str, job: Job) -> bool:
        row = await self._row(
            tenant,
            "DELETE FROM job WHERE tenant = $1 AND queue = $2 AND id = $3 AND token = $4"
            " AND due_at > clock_timestamp() RETURNING id",
            *(escape(queue), job.id, job.token),
        )
        return row is not None

    async def aclose(self) -> None:
        await self._bell.aclose()
        if self._pool is not None:
            await self._pool.close()

    # ---------------------------------------------------------------- the server

    async def _connect(self) -> Any:
        return await self._driver.connect(self._url)

    async def _check(self) -> None:
        pool = self._opened()
        role = await pool.fetchrow(
            "SELECT rolname, rolsuper, rolbypassrls FROM pg_roles WHERE rolname = current_user"
        )
        if role["rolsuper"] or role["rolbypassrls"]:
            raise ConfigurationError(
                f"the role {role['rolname']!r} bypasses row-level security, which keeps tenants apart;"
                " use one without SUPERUSER and BYPASSRLS"
            )
        forced = await pool.fetchval(
            "SELECT count(*) FROM pg_class WHERE oid IN (to_regclass('record'), to_regclass('log'),"
            " to_regclass('entry'), to_regclass('job')) AND relrowsecurity AND relforcerowsecurity"
        )
        if forced != 4:
            raise ConfigurationError(
                "the tables of seamstream are missing or without forced row-level security;"
                " let their owner run seamstream.stores.postgres_migrations.migrate"
            )

    def _opened(self) -> Any:
        if self._pool is None:
            raise StoreError("the store is not open")
        return self._pool

    async def _in_transaction(self, tenant: str, work: Callable[[Any], Awaitable[T]]) -> T:
        """Do it for that tenant, in one transaction that alone knows of him."""
        try:
            async with self._opened().acquire() as connection, connection.transaction():
                await connection.execute("SELECT set_config('seamstream.tenant', $1, true)", escape(tenant))
                return await work(connection)
        except self._errors as error:
            raise StoreError(f"PostgreSQL failed: {error}") from error

    async def _row(self, tenant: str, sql: str, *values: Any) -> Any:
        return await self._in_transaction(
            tenant, lambda connection: connection.fetchrow(sql, escape(tenant), *values)
        )

    async def _rows(self, tenant: str, sql: str, *values: Any) -> list[Any]:
        return await self._in_transaction(
            tenant, lambda connection: connection.fetch(sql, escape(tenant), *values)
        )

    async def _page(self, tenant: str, log: str, after: int, limit: int | None) -> Page:
        """In one statement, which sees one moment."""
        rows = await self._rows(
            tenant,
            "SELECT incarnation, last, seq, value FROM log LEFT JOIN entry"
            " ON entry.tenant = log.tenant AND entry.log = log.log AND entry.seq > $3"
            f" WHERE log.tenant = $1 AND log.log = $2 AND {_LOG_LIVES} ORDER BY seq LIMIT $4",
            *(log, after, limit),
        )
        if not rows:
            return Page()
        entries = [LogEntry(row["seq"], row["value"]) for row in rows if row["seq"] is not None]
        return Page(rows[0]["incarnation"], rows[0]["last"], entries)

    async def _due_again(self, tenant: str, queue: str, job: Job, seconds: float, *, keep: bool) -> bool:
        async def write(connection: Any) -> bool:
            changed = await connection.fetchval(
                f"UPDATE job SET due_at = {_UNTIL.format('$5::float8')},"
                " token = CASE WHEN $6 THEN token ELSE '' END"
                " WHERE tenant = $1 AND queue = $2 AND id = $3 AND token = $4 AND due_at > clock_timestamp()"
                " RETURNING true",
                *(escape(tenant), escape(queue), job.id, job.token, seconds, keep),
            )
            if changed and not keep:
                await _ring(connection, digest(tenant, "queue", queue))
            return bool(changed)

        return await self._in_transaction(tenant, write)


def digest(tenant: str, kind: str, name: str) -> str:
    """What a notification says: recognised by those who wait for it, and telling nothing to others."""
    return hashlib.sha256("\0".join((escape(tenant), kind, name)).encode()).hexdigest()


def _upsert(condition: str) -> str:
    until = _UNTIL.format("$4::float8")
    return (
        f"INSERT INTO record (tenant, key, value, expires_at) VALUES ($1, $2, $3, {until})"
        " ON CONFLICT (tenant, key) DO UPDATE SET value = excluded.value, revision = nextval('revision'),"
        f" expires_at = excluded.expires_at {condition} RETURNING revision"
    )


async def _locked_last(connection: Any, tenant: str, log: str, *, begin: bool) -> int:
    """How long a log is, which nobody else changes in this transaction. `begin`: make it if there is none."""
    if begin:
        await connection.execute(
            "INSERT INTO log (tenant, log) VALUES ($1, $2)"
            " ON CONFLICT (tenant, log) DO UPDATE SET tenant = excluded.tenant",
            *(tenant, log),
        )
    row = await connection.fetchrow(
        f"SELECT last, {_LOG_LIVES} AS lives FROM log WHERE tenant = $1 AND log = $2 FOR UPDATE", tenant, log
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
        [(tenant, log, last + number, value) for number, value in enumerate(values, 1)],
    )
    await connection.execute(
        f"UPDATE log SET last = $3, expires_at = coalesce({_UNTIL.format('$4::float8')}, expires_at)"
        " WHERE tenant = $1 AND log = $2",
        *(tenant, log, last + len(values), ttl_s),
    )
    await _ring(connection, hashlib.sha256("\0".join((tenant, "log", log)).encode()).hexdigest())


async def _claim(
    connection: Any, tenant: str, queue: str, lease_s: float, token: str
) -> tuple[Job | None, float | None]:
    """The oldest job that is due, or else in how many seconds there will be one."""
    row = await connection.fetchrow(
        f"UPDATE job SET due_at = {_UNTIL.format('$3::float8')}, token = $4, deliveries = deliveries + 1"
        " WHERE number = (SELECT number FROM job WHERE tenant = $1 AND queue = $2"
        " AND due_at <= clock_timestamp() ORDER BY due_at, number FOR UPDATE SKIP LOCKED LIMIT 1)"
        " RETURNING id, body, deliveries",
        *(tenant, queue, lease_s, token),
    )
    if row is not None:
        return Job(row["id"], row["body"], row["deliveries"], token), None
    next_s = await connection.fetchval(
        "SELECT extract(epoch FROM min(due_at) - clock_timestamp())::float8 FROM job"
        " WHERE tenant = $1 AND queue = $2",
        *(tenant, queue),
    )
    return None, None if next_s is None else max(0.01, next_s)


async def _ring(connection: Any, name: str) -> None:
    await connection.execute("SELECT pg_notify('seamstream', $1)", name)
