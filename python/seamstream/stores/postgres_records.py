"""Records in PostgreSQL: a row each."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Final

from .backend import Key, Record
from .in_time import in_time
from .keys import join, split
from .postgres_pool import PAGE, SWEPT, UNTIL, PostgresPool, within_limit

LIVES: Final = "(record.expires_at IS NULL OR record.expires_at > clock_timestamp())"


class PostgresRecords(PostgresPool):
    """The records of a `PostgresBackend`."""

    @in_time
    async def get(self, tenant: str, key: Key) -> Record | None:
        row = await self._row(
            tenant,
            f"SELECT value, revision FROM record WHERE tenant = $1 AND key = $2 AND {LIVES}",
            join(key),
        )
        return None if row is None else Record(row["value"], row["revision"])

    @in_time
    async def put(self, tenant: str, key: Key, value: bytes, *, ttl_s: float | None = None) -> int:
        row = await self._row(tenant, _upsert(""), join(key), within_limit(value), ttl_s)
        return int(row["revision"])

    @in_time
    async def compare_and_set(
        self, tenant: str, key: Key, value: bytes, *, revision: int, ttl_s: float | None = None
    ) -> int | None:
        if revision == 0:
            row = await self._row(
                tenant, _upsert(f"WHERE NOT {LIVES}"), join(key), within_limit(value), ttl_s
            )
        else:
            row = await self._row(
                tenant,
                _swept(
                    "UPDATE record SET value = $3, revision = nextval('revision'),"
                    f" expires_at = {UNTIL.format('$4::float8')}"
                    f" WHERE tenant = $1 AND key = $2 AND revision = $5 AND {LIVES} RETURNING revision"
                ),
                *(join(key), within_limit(value), ttl_s, revision),
            )
        return None if row is None else int(row["revision"])

    @in_time
    async def delete(self, tenant: str, key: Key, *, revision: int | None = None) -> bool:
        row = await self._row(
            tenant,
            "DELETE FROM record WHERE tenant = $1 AND key = $2 AND ($3::bigint IS NULL OR revision = $3)"
            f" RETURNING {LIVES} AS live",
            *(join(key), revision),
        )
        return bool(row is not None and row["live"])

    async def scan(self, tenant: str, prefix: Key = ()) -> AsyncIterator[tuple[Key, Record]]:
        last = ""
        while rows := await self._after(tenant, prefix, last):
            for row in rows:
                last = row["key"]
                yield split(last), Record(row["value"], row["revision"])

    @in_time
    async def _after(self, tenant: str, prefix: Key, last: str) -> list[Any]:
        """The next rows, in the order of their keys."""
        return await self._rows(
            tenant,
            "SELECT key, value, revision FROM record WHERE tenant = $1 AND key > $2"
            " AND ($3 = '' OR key = $3 OR (key >= $3 || '.' AND key < $3 || '/'))"
            f" AND {LIVES} ORDER BY key LIMIT $4",
            *(last, join(prefix), PAGE),
        )


def _upsert(condition: str) -> str:
    until = UNTIL.format("$4::float8")
    return _swept(
        f"INSERT INTO record (tenant, key, value, expires_at) VALUES ($1, $2, $3, {until})"
        " ON CONFLICT (tenant, key) DO UPDATE SET value = excluded.value, revision = nextval('revision'),"
        f" expires_at = excluded.expires_at {condition} RETURNING revision"
    )


def _swept(write: str) -> str:
    """That statement, and then, when it has its locks, the sweep, which waits for none."""
    return f"WITH done AS ({write}) SELECT revision, sweep({SWEPT}) FROM done"
