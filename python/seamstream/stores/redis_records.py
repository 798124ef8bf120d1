"""Records in Redis: a hash each, and an index of their names."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Final

from .backend import Key, Record
from .in_time import in_time
from .keys import is_under, join, split
from .redis_scripts import DELETE, SET
from .redis_server import PAGE, RedisServer, ttl_ms

SWEPT: Final = 16
"""How many names of expired records a write removes on its way."""


class RedisRecords(RedisServer):
    """The records of a `RedisBackend`."""

    @in_time
    async def get(self, tenant: str, key: Key) -> Record | None:
        value, revision = await self._ask(self._redis.hmget(self._name(tenant, "r", join(key)), "v", "r"))
        return None if revision is None else Record(value, int(revision))

    @in_time
    async def put(self, tenant: str, key: Key, value: bytes, *, ttl_s: float | None = None) -> int:
        return int(await self._set(tenant, key, value, -1, ttl_s))

    @in_time
    async def compare_and_set(
        self, tenant: str, key: Key, value: bytes, *, revision: int, ttl_s: float | None = None
    ) -> int | None:
        result = await self._set(tenant, key, value, revision, ttl_s)
        return None if result is None else int(result)

    @in_time
    async def delete(self, tenant: str, key: Key, *, revision: int | None = None) -> bool:
        keys = [self._name(tenant, "r", join(key)), self._name(tenant, "keys"), self._name(tenant, "expiry")]
        return bool(await self._call(DELETE, keys, [-1 if revision is None else revision, join(key)]))

    async def scan(self, tenant: str, prefix: Key = ()) -> AsyncIterator[tuple[Key, Record]]:
        low = f"[{join(prefix)}" if prefix else "-"
        while names := await self._names(tenant, prefix, low):
            low = f"({names[-1]}"
            for name in names:
                if is_under(name, prefix) and (record := await self.get(tenant, split(name))) is not None:
                    yield split(name), record

    @in_time
    async def _names(self, tenant: str, prefix: Key, low: str) -> list[str]:
        """The next names, in order."""
        high = f"({join(prefix)}/" if prefix else "+"
        found = await self._ask(
            self._redis.zrangebylex(self._name(tenant, "keys"), low, high, start=0, num=PAGE)
        )
        return [name.decode("ascii") for name in found]

    async def _set(self, tenant: str, key: Key, value: bytes, revision: int, ttl_s: float | None) -> Any:
        names = [self._name(tenant, name) for name in ("keys", "rev", "expiry")]
        arguments = [revision, ttl_ms(ttl_s), SWEPT, join(key), value]
        return await self._call(SET, [self._name(tenant, "r", join(key)), *names], arguments)
