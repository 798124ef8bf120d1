"""Records in SQLite: a row each."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from typing import Final

from .backend import Key, Record
from .keys import join, split
from .sqlite_file import NEXT_REVISION, PAGE, SWEPT, SqliteFile

_SWEEP: Final = """
DELETE FROM record WHERE (tenant, key) IN
    (SELECT tenant, key FROM record WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)
"""


class SqliteRecords(SqliteFile):
    """The records of a `SqliteBackend`."""

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

    def _set(
        self, connection: sqlite3.Connection, tenant: str, key: str, value: bytes, ttl_s: float | None
    ) -> int:
        now = self._clock.wall()
        connection.execute(_SWEEP, (now, SWEPT))
        revision: int = connection.execute(NEXT_REVISION).fetchone()[0]
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
