"""Work in Redis: ids in a sorted set by the time when they are due, with their bodies and claims beside it.

Not a consumer group: leases of any length, delays and fencing tokens need no second record here.
"""

from __future__ import annotations

import asyncio

from .backend import Job
from .in_time import in_time
from .keys import escape
from .redis_scripts import ACK, CLAIM, DUE_AGAIN, ENQUEUE
from .redis_server import BLOCK_MS, RedisServer, to_ms


class RedisWork(RedisServer):
    """The queues of a `RedisBackend`."""

    @in_time
    async def enqueue(self, tenant: str, queue: str, body: bytes, *, delay_s: float = 0.0) -> str:
        job_id = self._clock.uuid()
        await self._call(ENQUEUE, self._queue(tenant, queue), [job_id, body, to_ms(delay_s)])
        return job_id

    @in_time
    async def claim(self, tenant: str, queue: str, *, lease_s: float, wait_s: float = 0.0) -> Job | None:
        keys, loop = self._queue(tenant, queue), asyncio.get_running_loop()
        until, token = loop.time() + wait_s, self._clock.uuid()
        while True:
            found, next_ms, bell = await self._call(CLAIM, keys, [to_ms(lease_s), token])
            if found is not None:
                job_id, body, deliveries = found
                return Job(job_id.decode("ascii"), body, int(deliveries), token)
            left_ms = int((until - loop.time()) * 1000)
            if left_ms <= 0:
                return None
            block = max(1, min(left_ms, BLOCK_MS, int(next_ms) if int(next_ms) >= 0 else left_ms))
            await self._ask(self._redis.xread({keys[3]: bell.decode()}, count=1, block=block))

    @in_time
    async def extend(self, tenant: str, queue: str, job: Job, *, lease_s: float) -> bool:
        return await self._due_again(tenant, queue, job, lease_s, keep=True)

    @in_time
    async def release(self, tenant: str, queue: str, job: Job, *, delay_s: float = 0.0) -> bool:
        return await self._due_again(tenant, queue, job, delay_s, keep=False)

    @in_time
    async def ack(self, tenant: str, queue: str, job: Job) -> bool:
        return bool(await self._call(ACK, self._queue(tenant, queue), [job.id, job.token]))

    def _queue(self, tenant: str, queue: str) -> list[str]:
        """Due times, bodies, claims, and the bell that wakes waiting workers."""
        return [self._name(tenant, f"q{part}", escape(queue)) for part in ("due", "body", "claim", "bell")]

    async def _due_again(self, tenant: str, queue: str, job: Job, seconds: float, *, keep: bool) -> bool:
        arguments = [job.id, job.token, to_ms(seconds), int(keep)]
        return bool(await self._call(DUE_AGAIN, self._queue(tenant, queue), arguments))
