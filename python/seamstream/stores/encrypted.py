"""A backend whose values nobody can read without the user's key: records, log entries and jobs.

Names stay as they are: tenants, keys and queues are what a store finds its data by, so no secret may stand in
them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncIterator, Sequence
from typing import Final

from ..errors import StoreError
from .backend import Backend, Job, Key, LogEntry, Record
from .cipher import Cipher, decrypted, encrypted

UNREADABLE_REST_S: Final = 1.0
"""How long a job rests that its claimer has no key for."""


class EncryptedBackend:
    """A `Backend` in front of another one. It does not close the other one."""

    encrypts: Final = True

    def __init__(self, backend: Backend, cipher: Cipher) -> None:
        self._backend = backend
        self.cipher = cipher

    async def get(self, tenant: str, key: Key) -> Record | None:
        found = await self._backend.get(tenant, key)
        return None if found is None else self._record(found)

    async def put(self, tenant: str, key: Key, value: bytes, *, ttl_s: float | None = None) -> int:
        return await self._backend.put(tenant, key, encrypted(self.cipher, value), ttl_s=ttl_s)

    async def compare_and_set(
        self, tenant: str, key: Key, value: bytes, *, revision: int, ttl_s: float | None = None
    ) -> int | None:
        sealed = encrypted(self.cipher, value)
        return await self._backend.compare_and_set(tenant, key, sealed, revision=revision, ttl_s=ttl_s)

    async def delete(self, tenant: str, key: Key, *, revision: int | None = None) -> bool:
        return await self._backend.delete(tenant, key, revision=revision)

    async def scan(self, tenant: str, prefix: Key = ()) -> AsyncIterator[tuple[Key, Record]]:
        async for key, record in self._backend.scan(tenant, prefix):
            yield key, self._record(record)

    async def append(
        self,
        tenant: str,
        log: Key,
        values: Sequence[bytes],
        *,
        after: int | None = None,
        ttl_s: float | None = None,
    ) -> int | None:
        sealed = [encrypted(self.cipher, value) for value in values]
        return await self._backend.append(tenant, log, sealed, after=after, ttl_s=ttl_s)

    async def read(
        self, tenant: str, log: Key, *, after: int = 0, limit: int | None = None
    ) -> list[LogEntry]:
        return [
            self._entry(entry) for entry in await self._backend.read(tenant, log, after=after, limit=limit)
        ]

    async def follow(self, tenant: str, log: Key, *, after: int = 0) -> AsyncIterator[LogEntry]:
        async for entry in self._backend.follow(tenant, log, after=after):
            yield self._entry(entry)

    async def drop(self, tenant: str, log: Key) -> None:
        await self._backend.drop(tenant, log)

    async def enqueue(self, tenant: str, queue: str, body: bytes, *, delay_s: float = 0.0) -> str:
        return await self._backend.enqueue(tenant, queue, encrypted(self.cipher, body), delay_s=delay_s)

    async def claim(self, tenant: str, queue: str, *, lease_s: float, wait_s: float = 0.0) -> Job | None:
        job = await self._backend.claim(tenant, queue, lease_s=lease_s, wait_s=wait_s)
        return None if job is None else await self._opened(tenant, queue, job)

    async def extend(self, tenant: str, queue: str, job: Job, *, lease_s: float) -> bool:
        return await self._backend.extend(tenant, queue, job, lease_s=lease_s)

    async def ack(self, tenant: str, queue: str, job: Job) -> bool:
        return await self._backend.ack(tenant, queue, job)

    async def release(self, tenant: str, queue: str, job: Job, *, delay_s: float = 0.0) -> bool:
        return await self._backend.release(tenant, queue, job, delay_s=delay_s)

    async def aclose(self) -> None:
        """The backend behind it belongs to whoever opened it."""

    async def _opened(self, tenant: str, queue: str, job: Job) -> Job:
        """The job as it was enqueued. One that cannot be read goes back, for who has its key."""
        try:
            return dataclasses.replace(job, body=decrypted(self.cipher, job.body))
        except StoreError:
            await self._backend.release(tenant, queue, job, delay_s=UNREADABLE_REST_S)
            raise

    def _record(self, found: Record) -> Record:
        return Record(decrypted(self.cipher, found.value), found.revision)

    def _entry(self, entry: LogEntry) -> LogEntry:
        return LogEntry(entry.seq, decrypted(self.cipher, entry.value))
