"""`sqlite:///path`, the embedded default: one file, any number of processes of one machine.

One thread owns the connection, so the event loop never waits for the disk. Writes are `BEGIN IMMEDIATE`
transactions, which take the file's write lock at once: what one reads, nobody changes before it has written.
WAL keeps readers out of writers' way. Time is the machine's, which all processes of a file share.
"""

from __future__ import annotations

from .sqlite_logs import SqliteLogs
from .sqlite_records import SqliteRecords
from .sqlite_work import SqliteWork


class SqliteBackend(SqliteRecords, SqliteLogs, SqliteWork):
    """A `Backend` in one file. `synchronous`: "FULL" survives power loss, "NORMAL" the death of the process
    and may lose the last transactions with the power, but never corrupts. `timeout_s`: how long a write waits
    for another process's.
    """

    async def open(self) -> SqliteBackend:
        """Open the file, or make it; a file that is no database is a StoreError."""
        await self._connect()
        return self
