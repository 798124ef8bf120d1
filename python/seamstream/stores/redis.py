"""`redis://host:port/db`: records, logs and work in Redis, each change one Lua script.

A script runs alone on the server, so what it compares cannot change before it writes, and its clock is the
server's. All keys of a tenant share a hash tag and live in one slot of a cluster.

What Redis acknowledged survives its restart as far as its own persistence goes (`appendfsync always`: all of
it; `everysec`: up to one second is lost).
"""

from __future__ import annotations

from .redis_logs import RedisLogs
from .redis_records import RedisRecords
from .redis_work import RedisWork


class RedisBackend(RedisRecords, RedisLogs, RedisWork):
    """A `Backend` in a Redis server of version 7 or newer (`pip install seamstream[redis]`)."""

    async def open(self) -> RedisBackend:
        """Connect; a server that cannot be reached is a StoreError."""
        await self._connect()
        return self
