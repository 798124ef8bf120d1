"""`redis://host:port/db`: records, logs and work in Redis, each change one Lua script.

A script runs alone on the server, so what it compares cannot change before it writes, and its clock is the
server's. All keys of a tenant share a hash tag and live in one slot of a cluster. Logs are streams whose ids
are the entries' numbers. Work stands in a sorted set by the time when it is due, not in a consumer group:
leases of any length, delays and fencing tokens need no second record there.

What Redis acknowledged survives its restart as far as its own persistence goes (`appendfsync always`: all of
it; `everysec`: up to one second is lost).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import aclosing
from typing import Any, Final, TypeVar

from ..clock import Clock, SystemClock
from ..errors import StoreError
from .backend import Job, Key, LogEntry, Record
from .extras import load_driver
from .following import Page, follow_pages
from .keys import escape, is_under, join, split
from .redis_scripts import ACK, APPEND, CLAIM, DELETE, DROP, DUE_AGAIN, ENQUEUE, PAGE_OF, SET

T = TypeVar("T")

PAGE: Final = 256
BLOCK_MS: Final = 500
"""How long a follower sleeps in the server before it looks whether its log is gone."""


class RedisBackend:
    """A `Backend` in a Redis server of version 7 or newer (`pip install seamstream[redis]`)."""

    def __init__(self, url: str, *, prefix: str = "seamstream", clock: Clock | None = None) -> None:
        driver = load_driver("redis.asyncio", "redis")
        # A script that changes something must not be sent twice because its answer was lost.
        self._redis = driver.Redis.from_url(url, protocol=2, retry=None)
        self._errors: tuple[type[Exception], ...] = (
            load_driver("redis.exceptions", "redis").RedisError,
            OSError,
        )
        self._prefix = prefix
        self._clock = clock or SystemClock()
        self._scripts: dict[str, Any] = {}

    async def open(self) -> RedisBackend:
        """Connect; a server that cannot be reached is a StoreError."""
        await self._ask(self._redis.ping())
        return self

    # ---------------------------------------------------------------- records

    async def get(self, tenant: str, key: Key) -> Record | None:
        value, revision = await self._ask(self._redis.hmget(self._name(tenant, "r", join(key)), "v", "r"))
        return None if revision is None else Record(value, int(revision))

    async def put(self, tenant: str, key: Key, value: bytes, *, ttl_s: float | None = None) -> int:
        return int(await self._set(tenant, key, value, -1, ttl_s))

    async def compare_and_set(
        self, tenant: str, key: Key, value: bytes, *, revision: int, ttl_s: float | None = None
    ) -> int | None:
        result = await self._set(tenant, key, value, revision, ttl_s)
        return None if result is None else int(result)

    async def delete(self, tenant: str, key: Key, *, revision: int | None = None) -> bool:
        keys = [self._name(tenant, "r", join(key)), self._name(tenant, "keys")]
        return bool(await self._call(DELETE, keys, [-1 if revision is None else revision, join(key)]))

    async def scan(self, tenant: str, prefix: Key = ()) -> AsyncIterator[tuple[Key, Record]]:
        start = join(prefix)
        low = f"[{start}" if start else "-"
        while True:
            names = await self._ask(
                self._redis.zrangebylex(
                    self._name(tenant, "keys"), low, f"({start}/" if start else "+", start=0, num=PAGE
                )
            )
            for name in (raw.decode("ascii") for raw in names):
                low = f"({name}"
                if is_under(name, prefix) and (record := await self.get(tenant, split(name))) is not None:
                    yield split(name), record
            if len(names) < PAGE:
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
        keys = [*self._names_of(tenant, log), self._name(tenant, "rev")]
        arguments = [-1 if after is None else after, _ttl_ms(ttl_s), *values]
        result = await self._call(APPEND, keys, arguments)
        return None if result is None else int(result)

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
            incarnation, last, rows = await self._call(PAGE_OF, names, [seen, PAGE])
            return Page(incarnation, int(last), [_entry(row) for row in rows])

        async def wait() -> None:
            await self._ask(self._redis.xread({names[0]: f"{last}-0"}, count=1, block=BLOCK_MS))

        async with aclosing(follow_pages(look, wait, after)) as entries:
            async for entry in entries:
                yield entry

    async def drop(self, tenant: str, log: Key) -> None:
        await self._call(DROP, self._names_of(tenant, log), [])

    # ---------------------------------------------------------------- work

    async def enqueue(self, tenant: str, queue: str, body: bytes, *, delay_s: float = 0.0) -> str:
        job_id = self._clock.uuid()
        await self._call(ENQUEUE, self._queue(tenant, queue), [job_id, body, _ms(delay_s)])
        return job_id

    async def claim(self, tenant: str, queue: str, *, lease_s: float, wait_s: float = 0.0) -> Job | None:
        keys, loop = self._queue(tenant, queue), asyncio.get_running_loop()
        until, token = loop.time() + wait_s, self._clock.uuid()
        while True:
            found, next_ms, bell = await self._call(CLAIM, keys, [_ms(lease_s), token])
            if found is not None:
                job_id, body, deliveries = found
                return Job(job_id.decode("ascii"), body, int(deliveries), token)
            left_ms = int((until - loop.time()) * 1000)
            if left_ms <= 0:
                return None
            block = max(1, min(left_ms, int(next_ms) if int(next_ms) >= 0 else left_ms))
            await self._ask(self._redis.xread({keys[3]: bell.decode()}, count=1, block=block))

    async def extend(self, tenant: str, queue: str, job: Job, *, lease_s: float) -> bool:
        return await self._due_again(tenant, queue, job, lease_s, keep=True)

    async def release(self, tenant: str, queue: str, job: Job, *, delay_s: float = 0.0) -> bool:
        return await self._due_again(tenant, queue, job, delay_s, keep=False)

    async def ack(self, tenant: str, queue: str, job: Job) -> bool:
        return bool(await self._call(ACK, self._queue(tenant, queue), [job.id, job.token]))

    async def aclose(self) -> None:
        await self._redis.aclose()

    # ---------------------------------------------------------------- the server

    def _name(self, tenant: str, *parts: str) -> str:
        return ":".join((self._prefix, "{" + escape(tenant) + "}", *parts))

    def _names_of(self, tenant: str, log: Key) -> list[str]:
        """A log's stream, and the mark of its incarnation."""
        return [self._name(tenant, kind, join(log)) for kind in ("l", "i")]

    def _queue(self, tenant: str, queue: str) -> list[str]:
        """Due times, bodies, claims, and the bell that wakes waiting workers."""
        return [self._name(tenant, f"q{part}", escape(queue)) for part in ("due", "body", "claim", "bell")]

    async def _set(self, tenant: str, key: Key, value: bytes, revision: int, ttl_s: float | None) -> Any:
        keys = [self._name(tenant, "r", join(key)), self._name(tenant, "keys"), self._name(tenant, "rev")]
        return await self._call(SET, keys, [revision, _ttl_ms(ttl_s), join(key), value])

    async def _due_again(self, tenant: str, queue: str, job: Job, seconds: float, *, keep: bool) -> bool:
        arguments = [job.id, job.token, _ms(seconds), int(keep)]
        return bool(await self._call(DUE_AGAIN, self._queue(tenant, queue), arguments))

    async def _call(self, script: str, keys: list[str], arguments: list[Any]) -> Any:
        if script not in self._scripts:
            self._scripts[script] = self._redis.register_script(script)
        return await self._ask(self._scripts[script](keys=keys, args=arguments))

    async def _ask(self, question: Awaitable[T]) -> T:
        try:
            return await question
        except self._errors as error:
            raise StoreError(f"Redis failed: {error}") from error


def _entry(row: tuple[bytes, list[bytes]]) -> LogEntry:
    """As a script answers it: the id, and the fields in a row."""
    return LogEntry(_number(row[0]), row[1][1])


def _number(stream_id: bytes) -> int:
    return int(stream_id.partition(b"-")[0])


def _ttl_ms(ttl_s: float | None) -> int:
    return -1 if ttl_s is None else max(1, _ms(ttl_s))


def _ms(seconds: float) -> int:
    return round(seconds * 1000)
