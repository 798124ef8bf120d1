"""Logs in Redis: streams whose ids are the numbers of the entries, each with a mark of its incarnation."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing

from .backend import Key, LogEntry
from .following import Page, follow_pages
from .in_time import in_time
from .keys import join
from .redis_scripts import APPEND, DROP, PAGE_OF
from .redis_server import BLOCK_MS, PAGE, RedisServer, ttl_ms


class RedisLogs(RedisServer):
    """The logs of a `RedisBackend`."""

    @in_time
    async def append(
        self,
        tenant: str,
        log: Key,
        values: Sequence[bytes],
        *,
        after: int | None = None,
        ttl_s: float | None = None,
    ) -> int | None:
        keys = [*self._names_of(tenant, log), self._name(tenant, "rev")]
        arguments = [-1 if after is None else after, ttl_ms(ttl_s), *values]
        result = await self._call(APPEND, keys, arguments)
        return None if result is None else int(result)

    @in_time
    async def read(
        self, tenant: str, log: Key, *, after: int = 0, limit: int | None = None
    ) -> list[LogEntry]:
        name = self._name(tenant, "l", join(log))
        found = await self._ask(self._redis.xrange(name, min=f"{after + 1}-0", count=limit))
        return [LogEntry(_number(row[0]), row[1][b"v"]) for row in found]

    async def follow(self, tenant: str, log: Key, *, after: int = 0) -> AsyncIterator[LogEntry]:
        names, last = self._names_of(tenant, log), after

        async def look(seen: int) -> Page:
            nonlocal last
            page = await self._page(names, seen)
            last = page.last
            return page

        async def wait() -> None:
            await self._grown(names[0], last)

        async with aclosing(follow_pages(look, wait, after)) as entries:
            async for entry in entries:
                yield entry

    @in_time
    async def drop(self, tenant: str, log: Key) -> None:
        await self._call(DROP, self._names_of(tenant, log), [])

    @in_time
    async def _page(self, names: list[str], after: int) -> Page:
        incarnation, last, rows = await self._call(PAGE_OF, names, [after, PAGE])
        return Page(incarnation, int(last), [_entry(row) for row in rows])

    @in_time
    async def _grown(self, name: str, last: int) -> None:
        """Wait for a log's next entry, but not for ever."""
        await self._ask(self._redis.xread({name: f"{last}-0"}, count=1, block=BLOCK_MS))

    def _names_of(self, tenant: str, log: Key) -> list[str]:
        """A log's stream, and the mark of its incarnation."""
        return [self._name(tenant, kind, join(log)) for kind in ("l", "i")]


def _entry(row: tuple[bytes, list[bytes]]) -> LogEntry:
    """As a script answers it: the id, and the fields in a row."""
    return LogEntry(_number(row[0]), row[1][1])


def _number(stream_id: bytes) -> int:
    return int(stream_id.partition(b"-")[0])
