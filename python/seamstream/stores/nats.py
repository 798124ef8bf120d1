"""`nats://`: records, logs and work in NATS JetStream 2.11 or newer, with nats-py.

Records are the last messages of subjects, and their revisions the sequences that JetStream compares. A log is
a subject with all its messages. A claim is a message of its own whose time to live is the lease: the server
lets it expire, by its own clock, and its sequence fences off whoever lost it. (A consumer's acks do neither:
one ack time holds for all jobs, and a late ack of a lost delivery is taken.) Times are whole seconds.

JetStream acknowledges after it has written to its file, which it syncs every two minutes unless the server
is set to `sync_interval: always`; with `replicas=3` a message is on two servers at least.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

from ..clock import Clock, SystemClock
from .backend import Job, Key, Record
from .keys import escape, join, split
from .nats_logs import NatsLogs
from .nats_streams import LEASES, POLL_S, RECORDS, TOMBSTONE_S, WORK, Found, Streams


class NatsBackend(NatsLogs):
    """A `Backend` in NATS (`pip install seamstream[nats]`)."""

    def __init__(
        self, url: str, *, prefix: str = "seamstream", replicas: int = 1, clock: Clock | None = None
    ) -> None:
        self._clock = clock or SystemClock()
        self._streams = Streams(url, prefix=prefix, replicas=replicas, clock=self._clock)

    async def open(self) -> NatsBackend:
        """Connect; ConfigurationError for a server that is too old, StoreError for one that is away."""
        await self._streams.open()
        return self

    async def aclose(self) -> None:
        await self._streams.aclose()

    # ---------------------------------------------------------------- records

    async def get(self, tenant: str, key: Key) -> Record | None:
        found = await self._streams.last(RECORDS, self._record(tenant, key))
        return None if found is None or found.value is None else Record(found.value, found.seq)

    async def put(self, tenant: str, key: Key, value: bytes, *, ttl_s: float | None = None) -> int:
        while True:
            before = await self._streams.last(RECORDS, self._record(tenant, key))
            expected = before.seq if before is not None else 0
            if (revision := await self._replace(tenant, key, before, value, expected, ttl_s)) is not None:
                return revision

    async def compare_and_set(
        self, tenant: str, key: Key, value: bytes, *, revision: int, ttl_s: float | None = None
    ) -> int | None:
        for _ in range(2):  # once more if the mark of a deletion expired in between
            before = await self._streams.last(RECORDS, self._record(tenant, key))
            alive = before is not None and before.value is not None
            if (before.seq if before is not None and alive else 0) != revision:
                return None
            expected = before.seq if before is not None else 0
            done = await self._replace(tenant, key, before, value, expected, ttl_s)
            if done is not None or alive or before is None:
                return done
        return None

    async def delete(self, tenant: str, key: Key, *, revision: int | None = None) -> bool:
        while True:
            before = await self._streams.last(RECORDS, self._record(tenant, key))
            if before is None or before.value is None or revision not in (None, before.seq):
                return False
            if await self._replace(tenant, key, before, None, before.seq, TOMBSTONE_S) is not None:
                return True

    async def scan(self, tenant: str, prefix: Key = ()) -> AsyncIterator[tuple[Key, Record]]:
        exact = self._record(tenant, prefix)
        root = len(self._record(tenant, ())) + 1
        names = await self._streams.subjects(RECORDS, exact) + await self._streams.subjects(
            RECORDS, f"{exact}.>"
        )
        for subject in sorted(names):
            key = split(subject[root:])
            record = await self.get(tenant, key)
            if record is not None:
                yield key, record

    # ---------------------------------------------------------------- work

    async def enqueue(self, tenant: str, queue: str, body: bytes, *, delay_s: float = 0.0) -> str:
        job_id = self._clock.uuid()
        if delay_s > 0:
            lease = self._lease(tenant, queue, job_id)
            await self._streams.publish(lease, b"", expected=0, ttl_s=delay_s)
        await self._streams.publish(self._job(tenant, queue, job_id), _pack_job(0, body), expected=0)
        return job_id

    async def claim(self, tenant: str, queue: str, *, lease_s: float, wait_s: float = 0.0) -> Job | None:
        loop = asyncio.get_running_loop()
        until = loop.time() + wait_s
        freed = self._streams.subject("freed", escape(tenant))
        async with self._streams.told(self._job(tenant, queue, "*"), freed, wanted=wait_s > 0) as told:
            while True:
                told.clear()
                job = await self._claim_now(tenant, queue, lease_s)
                left = until - loop.time()
                if job is not None or left <= 0:
                    return job
                await self._streams.wait(told, min(left, POLL_S))

    async def extend(self, tenant: str, queue: str, job: Job, *, lease_s: float) -> bool:
        return await self._lease_again(tenant, queue, job, job.token, lease_s)

    async def release(self, tenant: str, queue: str, job: Job, *, delay_s: float = 0.0) -> bool:
        if delay_s > 0:
            return await self._lease_again(tenant, queue, job, "", delay_s)
        released = await self._lease_again(tenant, queue, job, "", 1.0)
        if released:
            await self._streams.purge(LEASES, self._lease(tenant, queue, job.id))
            await self._streams.tell(self._streams.subject("freed", escape(tenant)))
        return released

    async def ack(self, tenant: str, queue: str, job: Job) -> bool:
        if not await self._lease_again(tenant, queue, job, "", TOMBSTONE_S):
            return False
        found = await self._streams.last(WORK, self._job(tenant, queue, job.id))
        await self._streams.purge(WORK, self._job(tenant, queue, job.id))
        if found is not None and found.chunks is not None:
            await self._streams.drop_chunks(found.chunks)
        await self._streams.purge(LEASES, self._lease(tenant, queue, job.id))
        return True

    # ---------------------------------------------------------------- made of the above

    def _record(self, tenant: str, key: Key) -> str:
        return self._streams.subject(RECORDS, escape(tenant), join(key))

    def _job(self, tenant: str, queue: str, job_id: str) -> str:
        return self._streams.subject(WORK, escape(tenant), escape(queue), job_id)

    def _lease(self, tenant: str, queue: str, job_id: str) -> str:
        return self._streams.subject(LEASES, escape(tenant), escape(queue), job_id)

    async def _replace(
        self,
        tenant: str,
        key: Key,
        before: Found | None,
        value: bytes | None,
        expected: int,
        ttl_s: float | None,
    ) -> int | None:
        """Publish a record's next value, and drop the chunks of its last one."""
        subject = self._record(tenant, key)
        revision = await self._streams.publish(subject, value, expected=expected, ttl_s=ttl_s)
        if revision is not None and before is not None and before.chunks is not None:
            await self._streams.drop_chunks(before.chunks)
        return revision

    async def _claim_now(self, tenant: str, queue: str, lease_s: float) -> Job | None:
        """Take the first job that nobody has: claimed ones are published anew and so go to the end."""
        seq, token = 1, self._clock.uuid()
        while True:
            found = await self._streams.next(WORK, self._job(tenant, queue, "*"), seq)
            if found is None or found.value is None:
                return None
            seq, job_id = found.seq + 1, found.subject.rpartition(".")[2]
            lease = self._lease(tenant, queue, job_id)
            if await self._streams.publish(lease, token.encode(), expected=0, ttl_s=lease_s) is None:
                continue
            deliveries, body = _unpack_job(found.value)
            payload = _pack_job(deliveries + 1, body)
            if await self._streams.publish(found.subject, payload, expected=found.seq) is not None:
                if found.chunks is not None:
                    await self._streams.drop_chunks(found.chunks)
                return Job(job_id, body, deliveries + 1, token)
            await self._streams.purge(LEASES, lease)  # it was done while we looked at it

    async def _lease_again(self, tenant: str, queue: str, job: Job, token: str, seconds: float) -> bool:
        """Renew the lease of a claim that is still good, for its owner or, without a token, for nobody."""
        subject = self._lease(tenant, queue, job.id)
        found = await self._streams.last(LEASES, subject)
        if found is None or found.value != job.token.encode():
            return False
        renewed = await self._streams.publish(subject, token.encode(), expected=found.seq, ttl_s=seconds)
        return renewed is not None


def _pack_job(deliveries: int, body: bytes) -> bytes:
    return json.dumps(deliveries).encode() + b"\n" + body


def _unpack_job(value: bytes) -> tuple[int, bytes]:
    deliveries, _, body = value.partition(b"\n")
    return int(deliveries), body
