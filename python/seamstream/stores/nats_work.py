"""Work in NATS: a subject for each job, and one for the lease of whoever has claimed it.

A lease is a message whose time to live the server counts, by its own clock. A claim also publishes the job
anew, so the sequence of a job's message is a fencing token: who took a job away from another has changed it,
and the other's last word, which names the sequence that it knew, is refused. A worker may sleep between any
two requests, so leases are removed by sequence only: no later owner's lease can be meant.
"""

from __future__ import annotations

import asyncio
from typing import Final

from ..clock import Clock
from .backend import Job
from .in_time import in_time
from .keys import escape
from .nats_connection import POLL_S
from .nats_reading import DELETED, LEASES, WORK, Found
from .nats_streams import TOMBSTONE_S, Streams

FEW: Final = 16
"""How many jobs are looked at in one step."""
_RELEASED_S = 1.0
"""How long a lease that was given back may stand, should its owner die before it has removed it."""


class NatsWork:
    """The queues of a `NatsBackend`."""

    timeout_s: float
    server_name: str
    _streams: Streams
    _clock: Clock

    @in_time
    async def enqueue(self, tenant: str, queue: str, body: bytes, *, delay_s: float = 0.0) -> str:
        job_id = self._clock.uuid()
        if delay_s > 0:
            lease = self._lease(tenant, queue, job_id)
            await self._streams.publish(lease, b"", expected=0, ttl_s=delay_s)
        subject = self._job(tenant, queue, job_id)
        await self._streams.publish(subject, body, expected=0, label="0", chunks_under=job_id)
        return job_id

    @in_time
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

    @in_time
    async def extend(self, tenant: str, queue: str, job: Job, *, lease_s: float) -> bool:
        lease = self._lease(tenant, queue, job.id)
        return await self._lease_again(lease, job, _secret(job), lease_s) is not None

    @in_time
    async def release(self, tenant: str, queue: str, job: Job, *, delay_s: float = 0.0) -> bool:
        lease = self._lease(tenant, queue, job.id)
        lease_seq = await self._lease_again(lease, job, b"", delay_s or _RELEASED_S)
        if lease_seq is None:
            return False
        if not delay_s:
            await self._streams.purge(LEASES, lease, upto=lease_seq)
            await self._streams.tell(self._streams.subject("freed", escape(tenant)))
        return True

    @in_time
    async def ack(self, tenant: str, queue: str, job: Job) -> bool:
        lease = await self._owned(self._lease(tenant, queue, job.id), job)
        if lease is None:
            return False
        subject, seq = self._job(tenant, queue, job.id), _job_seq(job)
        done = await self._streams.publish(subject, None, expected=seq, ttl_s=TOMBSTONE_S)
        if done is None:
            return False
        await self._streams.drop_chunks(f"{job.id}.*")
        await self._streams.purge(WORK, subject, upto=done)
        await self._streams.purge(LEASES, lease.subject, upto=lease.seq)
        return True

    # ---------------------------------------------------------------- made of the above

    def _job(self, tenant: str, queue: str, job_id: str) -> str:
        return self._streams.subject(WORK, escape(tenant), escape(queue), job_id)

    def _lease(self, tenant: str, queue: str, job_id: str) -> str:
        return self._streams.subject(LEASES, escape(tenant), escape(queue), job_id)

    async def _claim_now(self, tenant: str, queue: str, lease_s: float) -> Job | None:
        """Take the first job that nobody has: claimed ones are published anew and so go to the end."""
        leases = self._streams.each(LEASES, self._lease(tenant, queue, "*"), 1)
        taken = {found.subject.rpartition(".")[2] async for found in leases}
        async for found in self._streams.each(WORK, self._job(tenant, queue, "*"), 1, FEW):
            job_id = found.subject.rpartition(".")[2]
            if found.payload == DELETED or job_id in taken:
                continue
            if (job := await self._taken(found, self._lease(tenant, queue, job_id), lease_s)) is not None:
                return job
        return None

    async def _taken(self, found: Found, lease: str, lease_s: float) -> Job | None:
        """Claim that job; None if somebody has it, or was faster."""
        secret = self._clock.uuid()
        lease_seq = await self._streams.publish(lease, secret.encode(), expected=0, ttl_s=lease_s)
        if lease_seq is None:
            return None
        deliveries = int(found.label) + 1
        seq = await self._streams.publish_payload(
            found.subject, found.payload, expected=found.seq, label=str(deliveries)
        )
        job = None if seq is None else await self._streams.loaded(found)
        if job is None:
            await self._streams.purge(LEASES, lease, upto=lease_seq)
            return None
        return Job(lease.rpartition(".")[2], job.value or b"", deliveries, f"{secret}.{seq}")

    async def _owned(self, subject: str, job: Job) -> Found | None:
        """The lease of a claim, if it is still good."""
        found = await self._streams.last(LEASES, subject)
        return found if found is not None and found.value == _secret(job) else None

    async def _lease_again(self, subject: str, job: Job, secret: bytes, seconds: float) -> int | None:
        """Renew the lease of a claim that is still good, for its owner or, without its secret, for nobody;
        answers the new one's sequence.
        """
        found = await self._owned(subject, job)
        if found is None:
            return None
        return await self._streams.publish(subject, secret, expected=found.seq, ttl_s=seconds)


def _secret(job: Job) -> bytes:
    """The first half of a claim's token stands in its lease."""
    return job.token.partition(".")[0].encode()


def _job_seq(job: Job) -> int:
    """The second half is the sequence of the job's message, which each claim changes."""
    return int(job.token.partition(".")[2] or 0)
