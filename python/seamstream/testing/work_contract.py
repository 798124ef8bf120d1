"""What every backend must do with work; see `backend_contract`."""

from __future__ import annotations

import asyncio
from typing import Final

from ..stores.backend import Backend
from .contract_helpers import LONG_S, SOON_S, Check, large_value, new_tenant


async def work_is_claimed_once(one: Backend, two: Backend) -> None:
    """In the order in which it came, by one client each, and never again once it is acknowledged."""
    tenant, claimed = new_tenant(), list[bytes]()
    for number in range(40):
        await one.enqueue(tenant, "q", str(number).encode())

    async def work(client: Backend) -> None:
        while (job := await client.claim(tenant, "q", lease_s=LONG_S)) is not None:
            claimed.append(job.body)
            assert job.deliveries == 1
            assert await client.ack(tenant, "q", job)
            assert not await client.ack(tenant, "q", job)

    await asyncio.gather(work(one), work(two))
    assert sorted(claimed, key=int) == [str(number).encode() for number in range(40)]
    assert await one.claim(tenant, "other", lease_s=LONG_S) is None


async def large_work_is_kept(one: Backend, two: Backend) -> None:
    """A job's body may be larger than any store's message."""
    tenant = new_tenant()
    await one.enqueue(tenant, "q", large_value())
    for deliveries, last_word in ((1, two.release), (2, two.ack)):
        job = await two.claim(tenant, "q", lease_s=LONG_S)
        assert job is not None
        assert (job.body, job.deliveries) == (large_value(), deliveries)
        assert await last_word(tenant, "q", job)


async def lost_leases_are_delivered_again(one: Backend, two: Backend) -> None:
    """On the store's clock; whoever lost the claim can do nothing with it any more."""
    tenant = new_tenant()
    await one.enqueue(tenant, "q", b"job")
    lost = await one.claim(tenant, "q", lease_s=SOON_S)
    assert lost is not None
    again = await two.claim(tenant, "q", lease_s=LONG_S, wait_s=LONG_S)
    assert again is not None
    assert (again.body, again.id, again.deliveries) == (b"job", lost.id, 2)
    assert not await one.extend(tenant, "q", lost, lease_s=LONG_S)
    assert not await one.ack(tenant, "q", lost)
    assert not await one.release(tenant, "q", lost)
    assert await one.claim(tenant, "q", lease_s=LONG_S) is None
    assert await two.ack(tenant, "q", again)


async def leases_can_be_extended(one: Backend, two: Backend) -> None:
    """As long as its owner extends it, nobody else gets the job."""
    tenant = new_tenant()
    await one.enqueue(tenant, "q", b"job")
    job = await one.claim(tenant, "q", lease_s=1.0)
    assert job is not None
    waiting = asyncio.create_task(two.claim(tenant, "q", lease_s=LONG_S, wait_s=1.3))
    while not waiting.done():
        assert await one.extend(tenant, "q", job, lease_s=1.0)
        await asyncio.wait({waiting}, timeout=0.25)
    assert waiting.result() is None
    assert await one.ack(tenant, "q", job)


async def work_can_be_released(one: Backend, two: Backend) -> None:
    """Given back, it can be claimed at once or after the delay; new work may have one too."""
    tenant = new_tenant()
    await one.enqueue(tenant, "q", b"job")
    job = await one.claim(tenant, "q", lease_s=LONG_S)
    assert job is not None
    assert await one.release(tenant, "q", job)
    job = await two.claim(tenant, "q", lease_s=LONG_S, wait_s=LONG_S)
    assert job is not None
    assert await two.release(tenant, "q", job, delay_s=SOON_S)
    assert await one.claim(tenant, "q", lease_s=LONG_S) is None
    job = await one.claim(tenant, "q", lease_s=LONG_S, wait_s=LONG_S)
    assert job is not None
    assert await one.ack(tenant, "q", job)
    await one.enqueue(tenant, "q", b"later", delay_s=SOON_S)
    assert await two.claim(tenant, "q", lease_s=LONG_S) is None
    assert await two.claim(tenant, "q", lease_s=LONG_S, wait_s=LONG_S) is not None


async def waiting_workers_are_woken(one: Backend, two: Backend) -> None:
    """A worker that waits gets work soon after it was added, by whichever client."""
    tenant = new_tenant()
    waiting = asyncio.create_task(two.claim(tenant, "q", lease_s=LONG_S, wait_s=LONG_S))
    await asyncio.sleep(0)
    await one.enqueue(tenant, "q", b"job")
    job = await asyncio.wait_for(waiting, LONG_S / 2)
    assert job is not None
    assert job.body == b"job"


WORK_CHECKS: Final[tuple[Check, ...]] = (
    work_is_claimed_once,
    large_work_is_kept,
    lost_leases_are_delivered_again,
    leases_can_be_extended,
    work_can_be_released,
    waiting_workers_are_woken,
)
