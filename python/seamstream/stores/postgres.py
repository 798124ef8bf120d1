"""`postgresql://`: records, logs and work in PostgreSQL 13 or newer, with asyncpg.

Each call is one transaction that names its tenant, and row-level security, forced by the migration, shows
that tenant's rows only; a role that could bypass it is refused. Jobs are claimed with `SKIP LOCKED`. Waiting
is woken by LISTEN on a connection of its own: everybody may listen, so a notification carries a digest only.
Time is the server's. What was acknowledged is on disk unless `synchronous_commit` is off.
"""

from __future__ import annotations

from .postgres_logs import PostgresLogs
from .postgres_records import PostgresRecords
from .postgres_work import PostgresWork


class PostgresBackend(PostgresRecords, PostgresLogs, PostgresWork):
    """A `Backend` in PostgreSQL (`pip install seamstream[postgres]`). `migrate` must have been run before."""

    async def open(self) -> PostgresBackend:
        """Connect, and refuse (ConfigurationError) a role that row-level security does not bind."""
        try:
            await self._open()
        except BaseException:
            await self.aclose()
            raise
        return self
