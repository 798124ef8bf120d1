"""`sqlite:///path`, the embedded default: one file, any number of processes of one machine.

One thread owns the connection, so the event loop never waits for the disk. Writes are `BEGIN IMMEDIATE`
transactions, which take the file's write lock at once: what one reads, nobody changes before it has written.
WAL keeps readers out of writers' way. Time is the machine's, which all processes of a file share.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal, TypeVar

from ..clock import Clock, SystemClock
from ..errors import StoreError
from .backend import Job, Key, LogEntry, Record
from .following import Page, follow_pages
from .keys import join, split

T = TypeVar("T")

BUSY_S: Final = 30.0
"""How long a write waits for another process's."""
POLL_S: Final = 0.05
"""How often a reader looks whether another process has written: SQLite tells nobody."""
PAGE: Final = 256
"""Records and entries are read in pages, so that a long log never stands in memory whole."""

_MIGRATIONS: Final = (
    """
CREATE TABLE IF NOT EXISTS record (
    tenant TEXT NOT NULL, key TEXT NOT NULL, value BLOB NOT NULL, revision INTEGER NOT NULL, expires_at REAL,
    PRIMARY KEY (tenant, key)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS record_expiry ON record (expires_at) WHERE expires_at IS NOT NULL;
CREATE TABLE IF NOT EXISTS log (
    tenant TEXT NOT NULL, log TEXT NOT NULL, last INTEGER NOT NULL, incarnation INTEGER NOT NULL,
    PRIMARY KEY (tenant, log)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS entry (
    tenant TEXT NOT NULL, log TEXT NOT NULL, seq INTEGER NOT NULL, value BLOB NOT NULL,
    PRIMARY KEY (tenant, log, seq));
CREATE TABLE IF NOT EXISTS job (
    number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, tenant TEXT NOT NULL,
    queue TEXT NOT NULL, body BLOB NOT NULL, due_at REAL NOT NULL, deliveries INTEGER NOT NULL DEFAULT 0,
    token TEXT NOT NULL DEFAULT '');
CREATE INDEX IF NOT EXISTS job_due ON job (tenant, queue, due_at, number);
CREATE TABLE IF NOT EXISTS counter (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
INSERT OR IGNORE INTO counter VALUES ('revision', 0);
""",
    """
ALTER TABLE log ADD COLUMN expires_at REAL;
CREATE INDEX log_expiry ON log (expires_at) WHERE expires_at IS NOT NULL;
""",
)
"""A file's `user_version` says how many of them it has seen."""
_NEXT_REVISION: Final = "UPDATE counter SET value = value + 1 WHERE name = 'revision' RETURNING value"
_CLAIM: Final = """
UPDATE job SET due_at = ?, token = ?, deliveries = deliveries + 1
WHERE number = (SELECT number FROM job WHERE tenant = ? AND queue = ? AND due_at <= ?
                ORDER BY due_at, number LIMIT 1)
RETURNING id, body, deliveries, token
"""


class SqliteBackend:
    """A `Backend` in one file. `synchronous`: "FULL" survives power loss, "NORMAL" the death of the process
    and may lose the last transactions with the power, but never corrupts.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        synchronous: Literal["FULL", "NORMAL"] = "FULL",
        clock: Clock | None = None,
    ) -> None:
        self._path = str(path)
        self._synchronous = synchronous
        self._clock = clock or SystemClock()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="seamstream-sqlite")
        self._connection: sqlite3.Connection | None = None
        self._written = asyncio.Event()

    async def open(self) -> SqliteBackend:
        """Open the file, or make it; a file that is no database is a StoreError."""
        await self._run(self._connect)
        return self

    # ---------------------------------------------------------------- records

    async def get(self, tenant: str, key: Key) -> Record | None:
        def read(connection: sqlite3.Connection) -> Record | None:
            row = connection.execute(
                "SELECT value, revision FROM record WHERE tenant = ? AND key = ?"
                " AND (expires_at IS NULL OR expires_at > ?)",
                (tenant, join(key), self._clock.wall()),
            ).fetchone()
            return Record(*row) if row else None

        return await self._run(read)

    async def put(self, tenant: str, key: Key, value: bytes, *, ttl_s: float | None = None) -> int:
        return await self._write(lambda connection: self._set(connection, tenant, join(key), value, ttl_s))

    async def compare_and_set(
        self, tenant: str, key: Key, value: bytes, *, revision: int, ttl_s: float | None = None
    ) -> int | None:
        def write(connection: sqlite3.Connection) -> int | None:
            if self._revision(connection, tenant, join(key)) != revision:
                return None
            return self._set(connection, tenant, join(key), value, ttl_s)

        return await self._write(write)

    async def delete(self, tenant: str, key: Key, *, revision: int | None = None) -> bool:
        def write(connection: sqlite3.Connection) -> bool:
            found = self._revision(connection, tenant, join(key))
            if not found or revision not in (None, found):
                return False
            connection.execute("DELETE FROM record WHERE tenant = ? AND key = ?", (tenant, join(key)))
            return True

        return await self._write(write)

    async def scan(self, tenant: str, prefix: Key = ()) -> AsyncIterator[tuple[Key, Record]]:
        start = join(prefix)
        last, rows = "", [("", b"", 0)]

        def page(connection: sqlite3.Connection) -> list[tuple[str, bytes, int]]:
            return connection.execute(
                "SELECT key, value, revision FROM record WHERE tenant = ? AND key > ?"
                " AND (? = '' OR key = ? OR (key >= ? || '.' AND key < ? || '/'))"
                " AND (expires_at IS NULL OR expires_at > ?) ORDER BY key LIMIT ?",
                (tenant, last, start, start, start, start, self._clock.wall(), PAGE),
            ).fetchall()

        while rows:
            rows = await self._run(page)
            for name, value, revision in rows:
                last = name
                yield split(name), Record(value, revision)

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

    # ---------------------------------------------------------------- work

    async def enqueue(self, tenant: str, queue: str, body: bytes, *, delay_s: float = 0.0) -> str:
        job_id, due_at = self._clock.uuid(), self._clock.wall() + delay_s
        await self._write(
            lambda connection: connection.execute(
                "INSERT INTO job (id, tenant, queue, body, due_at) VALUES (?, ?, ?, ?, ?)",
                (job_id, tenant, queue, body, due_at),
            )
        )
        return job_id

    async def claim(self, tenant: str, queue: str, *, lease_s: float, wait_s: float = 0.0) -> Job | None:
        until = self._clock.monotonic() + wait_s
        while True:
            self._written.clear()
            job = await self._write(lambda connection: self._claim(connection, tenant, queue, lease_s))
            left = until - self._clock.monotonic()
            if job is not None or left <= 0:
                return job
            await self._until_written(min(left, POLL_S))

    async def extend(self, tenant: str, queue: str, job: Job, *, lease_s: float) -> bool:
        return await self._change_claim("due_at = ?", tenant, queue, job, (self._clock.wall() + lease_s,))

    async def release(self, tenant: str, queue: str, job: Job, *, delay_s: float = 0.0) -> bool:
        due_at = self._clock.wall() + delay_s
        return await self._change_claim("due_at = ?, token = ''", tenant, queue, job, (due_at,))

    async def ack(self, tenant: str, queue: str, job: Job) -> bool:
        def write(connection: sqlite3.Connection) -> bool:
            done = connection.execute(
                "DELETE FROM job WHERE tenant = ? AND queue = ? AND token = ? AND due_at > ?",
                (tenant, queue, job.token, self._clock.wall()),
            )
            return done.rowcount == 1

        return await self._write(write)

    async def aclose(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await asyncio.get_running_loop().run_in_executor(self._thread, connection.close)
        self._thread.shutdown(wait=False)

    # ---------------------------------------------------------------- the connection's own thread

    async def _run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do it in the thread that owns the connection."""
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, self._with, work)
        except (sqlite3.Error, OSError) as error:
            raise StoreError(f"SQLite failed: {error}") from error

    async def _write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do it in one transaction that has the write lock from its beginning."""

        def transaction(connection: sqlite3.Connection) -> T:
            connection.execute("BEGIN IMMEDIATE")
            try:
                result = work(connection)
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")
            return result

        result = await self._run(transaction)
        self._written.set()
        return result

    def _with(self, work: Callable[[sqlite3.Connection], T]) -> T:
        if self._connection is None and work != self._connect:
            raise StoreError("the store is closed")
        return work(self._connection)  # type: ignore[arg-type]

    def _connect(self, _none: Any) -> None:
        self._connection = sqlite3.connect(self._path, timeout=BUSY_S, isolation_level=None)
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute(f"PRAGMA synchronous = {self._synchronous}")
        _migrate(self._connection)

    def _set(
        self, connection: sqlite3.Connection, tenant: str, key: str, value: bytes, ttl_s: float | None
    ) -> int:
        now = self._clock.wall()
        connection.execute("DELETE FROM record WHERE expires_at <= ?", (now,))
        revision: int = connection.execute(_NEXT_REVISION).fetchone()[0]
        connection.execute(
            "INSERT OR REPLACE INTO record VALUES (?, ?, ?, ?, ?)",
            (tenant, key, value, revision, None if ttl_s is None else now + ttl_s),
        )
        return revision

    def _revision(self, connection: sqlite3.Connection, tenant: str, key: str) -> int:
        row = connection.execute(
            "SELECT revision FROM record WHERE tenant = ? AND key = ?"
            " AND (expires_at IS NULL OR expires_at > ?)",
            (tenant, key, self._clock.wall()),
        ).fetchone()
        return row[0] if row else 0

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
        if last == 0:
            incarnation = connection.execute(_NEXT_REVISION).fetchone()[0]
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
            (last + len(values), None if ttl_s is None else self._clock.wall() + ttl_s, tenant, log),
        )

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

    def _claim(self, connection: sqlite3.Connection, tenant: str, queue: str, lease_s: float) -> Job | None:
        now = self._clock.wall()
        row = connection.execute(_CLAIM, (now + lease_s, self._clock.uuid(), tenant, queue, now)).fetchone()
        return Job(*row) if row else None

    async def _change_claim(
        self, change: str, tenant: str, queue: str, job: Job, values: tuple[float, ...]
    ) -> bool:
        """Change the job of a claim that is still good."""

        def write(connection: sqlite3.Connection) -> bool:
            changed = connection.execute(
                f"UPDATE job SET {change} WHERE tenant = ? AND queue = ? AND token = ? AND due_at > ?",
                (*values, tenant, queue, job.token, self._clock.wall()),
            )
            return changed.rowcount == 1

        return await self._write(write)

    async def _until_written(self, at_most_s: float) -> None:
        """Wait for a write of this process; those of others are found by looking again."""
        timer = self._clock.call_later(at_most_s, self._written.set)
        try:
            await self._written.wait()
        finally:
            timer.cancel()


def _migrate(connection: sqlite3.Connection) -> None:
    """Bring the tables of a file up to date; of several processes one does it."""
    connection.execute("BEGIN IMMEDIATE")
    (seen,) = connection.execute("PRAGMA user_version").fetchone()
    for script in _MIGRATIONS[seen:]:
        for statement in script.split(";"):
            connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {len(_MIGRATIONS)}")
    connection.execute("COMMIT")


def _drop(connection: sqlite3.Connection, tenant: str, log: str) -> None:
    for table in ("entry", "log"):
        connection.execute(f"DELETE FROM {table} WHERE tenant = ? AND log = ?", (tenant, log))
