"""The one connection to a SQLite file, in a thread of its own, and what all who use it share."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Final, Literal, TypeVar

from ..clock import Clock, SystemClock
from ..errors import StoreError, StoreLimitError
from .in_time import DEFAULT_TIMEOUT_S

T = TypeVar("T")

POLL_S: Final = 0.05
"""How often a reader looks whether another process has written: SQLite tells nobody."""
PAGE: Final = 256
"""Records and entries are read in pages, so that a long log never stands in memory whole."""
SWEPT: Final = 16
"""How much of what has expired a write removes on its way."""
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
NEXT_REVISION: Final = "UPDATE counter SET value = value + 1 WHERE name = 'revision' RETURNING value"
_LIMITS: Final = frozenset({sqlite3.SQLITE_FULL, sqlite3.SQLITE_TOOBIG})


class SqliteFile:
    """Opens and closes the file and runs what the backend does with it."""

    def __init__(
        self,
        path: str | Path,
        *,
        synchronous: Literal["FULL", "NORMAL"] = "FULL",
        timeout_s: float = DEFAULT_TIMEOUT_S,
        clock: Clock | None = None,
    ) -> None:
        self._path = str(path)
        self._synchronous = synchronous
        self._timeout_s = timeout_s
        self._clock = clock or SystemClock()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="seamstream-sqlite")
        self._connection: sqlite3.Connection | None = None
        self._written = asyncio.Event()

    async def aclose(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await asyncio.get_running_loop().run_in_executor(self._thread, connection.close)
        self._thread.shutdown(wait=False)

    async def _connect(self) -> None:
        await self._in_thread(self._connected)

    async def _run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do it in the thread that owns the connection."""

        def run() -> T:
            if self._connection is None:
                raise StoreError("the store is closed")
            return work(self._connection)

        return await self._in_thread(run)

    async def _write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do it in one transaction that has the write lock from its beginning."""

        def transaction(connection: sqlite3.Connection) -> T:
            connection.execute("BEGIN IMMEDIATE")
            try:
                result = work(connection)
                connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):  # a full disk has rolled back by itself
                    connection.execute("ROLLBACK")
                raise
            return result

        result = await self._run(transaction)
        self._written.set()
        return result

    async def _until_written(self, at_most_s: float) -> None:
        """Wait for a write of this process; those of others are found by looking again."""
        timer = self._clock.call_later(at_most_s, self._written.set)
        try:
            await self._written.wait()
        finally:
            timer.cancel()

    async def _in_thread(self, work: Callable[[], T]) -> T:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        except OverflowError as error:
            raise StoreLimitError(f"SQLite has a limit: {error}") from error
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorcode", None) in _LIMITS:
                raise StoreLimitError(f"SQLite has a limit: {error}") from error
            raise StoreError(f"SQLite failed: {error}") from error
        except OSError as error:
            raise StoreError(f"SQLite failed: {error}") from error

    def _connected(self) -> None:
        self._connection = sqlite3.connect(self._path, timeout=self._timeout_s, isolation_level=None)
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute(f"PRAGMA synchronous = {self._synchronous}")
        _migrate(self._connection)


def _migrate(connection: sqlite3.Connection) -> None:
    """Bring the tables of a file up to date; of several processes one does it."""
    connection.execute("BEGIN IMMEDIATE")
    (seen,) = connection.execute("PRAGMA user_version").fetchone()
    for script in _MIGRATIONS[seen:]:
        for statement in script.split(";"):
            connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {len(_MIGRATIONS)}")
    connection.execute("COMMIT")
