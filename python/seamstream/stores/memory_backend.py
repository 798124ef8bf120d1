"""`memory:`, a backend in this process's memory: the reference for the others, for tests and for one process.

Nothing here awaits between reading and writing, so each call is atomic in its event loop.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator
from dataclasses import dataclass

from ..clock import Clock, SystemClock
from .backend import Job, Key, Record
from .keys import is_under, join, split
from .memory_logs import MemoryLogs, Place, sweep


@dataclass(slots=True)
class _Stored:
    value: bytes
    revision: int
    expires_at: float | None


@dataclass(slots=True)
class _Work:
    id: str
    body: bytes
    due_at: float
    deliveries: int = 0
    token: str = ""


class MemoryBackend(MemoryLogs):
    """A `Backend` of dictionaries. It ends with its process."""

    def __init__(self, *, clock: Clock | None = None) -> None:
        super().__init__(clock or SystemClock())
        self._records = OrderedDict[Place, _Stored]()
        self._work: dict[Place, list[_Work]] = {}
        self._added = asyncio.Event()
        self._revision = 0

    async def open(self) -> MemoryBackend:
        """Nothing has to be done: the twin of what other backends need."""
        return self

    async def get(self, tenant: str, key: Key) -> Record | None:
        stored = self._live((tenant, join(key)))
        return None if stored is None else Record(stored.value, stored.revision)

    async def put(self, tenant: str, key: Key, value: bytes, *, ttl_s: float | None = None) -> int:
        return self._set((tenant, join(key)), value, ttl_s)

    async def compare_and_set(
        self, tenant: str, key: Key, value: bytes, *, revision: int, ttl_s: float | None = None
    ) -> int | None:
        place = (tenant, join(key))
        stored = self._live(place)
        if (stored.revision if stored is not None else 0) != revision:
            return None
        return self._set(place, value, ttl_s)

    async def delete(self, tenant: str, key: Key, *, revision: int | None = None) -> bool:
        place = (tenant, join(key))
        stored = self._live(place)
        if stored is None or revision not in (None, stored.revision):
            return False
        del self._records[place]
        return True

    async def scan(self, tenant: str, prefix: Key = ()) -> AsyncIterator[tuple[Key, Record]]:
        names = sorted(name for owner, name in self._records if owner == tenant and is_under(name, prefix))
        for name in names:
            stored = self._live((tenant, name))
            if stored is not None:
                yield split(name), Record(stored.value, stored.revision)

    async def enqueue(self, tenant: str, queue: str, body: bytes, *, delay_s: float = 0.0) -> str:
        work = _Work(self._clock.uuid(), body, self._clock.monotonic() + delay_s)
        self._work.setdefault((tenant, queue), []).append(work)
        self._added.set()
        return work.id

    async def claim(self, tenant: str, queue: str, *, lease_s: float, wait_s: float = 0.0) -> Job | None:
        until = self._clock.monotonic() + wait_s
        while (job := self._claim_now((tenant, queue), lease_s)) is None:
            now = self._clock.monotonic()
            if now >= until:
                return None
            await self._until_due((tenant, queue), until - now)
        return job

    async def extend(self, tenant: str, queue: str, job: Job, *, lease_s: float) -> bool:
        return self._due_again(tenant, queue, job, lease_s, keep=True)

    async def release(self, tenant: str, queue: str, job: Job, *, delay_s: float = 0.0) -> bool:
        released = self._due_again(tenant, queue, job, delay_s, keep=False)
        self._added.set()
        return released

    async def ack(self, tenant: str, queue: str, job: Job) -> bool:
        work = self._claimed(tenant, queue, job)
        if work is None:
            return False
        self._work[tenant, queue].remove(work)
        return True

    async def aclose(self) -> None:
        self._close()

    def _live(self, place: Place) -> _Stored | None:
        stored = self._records.get(place)
        if stored is None or stored.expires_at is None or stored.expires_at > self._clock.monotonic():
            return stored
        del self._records[place]
        return None

    def _set(self, place: Place, value: bytes, ttl_s: float | None) -> int:
        self._revision += 1
        expires_at = None if ttl_s is None else self._clock.monotonic() + ttl_s
        self._records[place] = _Stored(value, self._revision, expires_at)
        sweep(self._records, self._clock.monotonic())
        return self._revision

    def _claim_now(self, place: Place, lease_s: float) -> Job | None:
        now = self._clock.monotonic()
        due = [work for work in self._work.get(place, ()) if work.due_at <= now]
        if not due:
            return None
        work = min(due, key=lambda candidate: candidate.due_at)
        work.due_at, work.token = now + lease_s, self._clock.uuid()
        work.deliveries += 1
        return Job(work.id, work.body, work.deliveries, work.token)

    async def _until_due(self, place: Place, at_most_s: float) -> None:
        """Wait until work was added or becomes due."""
        self._added.clear()
        now = self._clock.monotonic()
        next_s = min((work.due_at - now for work in self._work.get(place, ())), default=at_most_s)
        timer = self._clock.call_later(max(0.0, min(next_s, at_most_s)), self._added.set)
        try:
            await self._added.wait()
        finally:
            timer.cancel()

    def _claimed(self, tenant: str, queue: str, job: Job) -> _Work | None:
        """The work of a claim that is still good."""
        now = self._clock.monotonic()
        works = self._work.get((tenant, queue), ())
        return next((work for work in works if work.token == job.token and work.due_at > now), None)

    def _due_again(self, tenant: str, queue: str, job: Job, seconds: float, *, keep: bool) -> bool:
        work = self._claimed(tenant, queue, job)
        if work is None:
            return False
        work.due_at = self._clock.monotonic() + seconds
        work.token = work.token if keep else ""
        return True
