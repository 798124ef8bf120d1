"""A worker that was told to stop takes up nothing new, and shares itself among its tenants until then."""

from __future__ import annotations

import asyncio

import orjson
import pytest

from seamstream.stores.backend import Job, Operator
from seamstream.stores.memory_backend import MemoryBackend
from seamstream.tasks import EncryptedBackend, NotExecuted, ToolContext, Worker, tool
from seamstream.tasks.reading import QUEUE, load_task
from seamstream.testing import Fault
from seamstream.types import Event
from tests.tasks.playing import ASK, TENANT, Gate, stage
from tests.tasks.scripted import calls, says


async def test_a_full_worker_that_stops_takes_up_no_other_task() -> None:
    gate = Gate("look", writes=False)

    script = lambda results: says("Seen.") if results else calls(("look", {}))  # noqa: E731
    async with stage(script, [gate.tool]) as played:
        await played.agent.submit(TENANT, ASK)
        waiting = await played.agent.submit(TENANT, ASK)
        worker = played.worker(concurrency=1)
        running = asyncio.ensure_future(worker.run())
        async with asyncio.timeout(10):
            await gate.arrived.wait()
            worker.stop()
            gate.may_end.set()
            await running
        assert (await load_task(played.store, TENANT, waiting.task_id)).epoch == 0
        assert len(played.server.requests) == 1


async def test_a_full_worker_stops_after_its_grace() -> None:
    arrived = asyncio.Event()

    @tool(side_effect="none")
    async def look(context: ToolContext) -> None:
        arrived.set()
        await asyncio.Event().wait()

    async with stage(lambda results: calls(("look", {})), [look]) as played:
        await played.agent.submit(TENANT, ASK)
        worker = played.worker(concurrency=1, grace_s=0.01)
        running = asyncio.ensure_future(worker.run())
        async with asyncio.timeout(10):
            await arrived.wait()
            worker.stop()
            worker.stop()
            await running


async def test_a_job_that_arrives_while_it_stops_is_given_back() -> None:
    class Slow(MemoryBackend):
        asked, may_answer = asyncio.Event(), asyncio.Event()

        async def claim(self, tenant: str, queue: str, *, lease_s: float, wait_s: float = 0.0) -> Job | None:
            self.asked.set()
            await self.may_answer.wait()
            return await super().claim(tenant, queue, lease_s=lease_s, wait_s=wait_s)

    store = Slow()
    async with stage(lambda results: says("Hello."), store=store) as played:
        await played.agent.submit(TENANT, ASK)
        worker = played.worker()
        running = asyncio.ensure_future(worker.run())
        async with asyncio.timeout(10):
            await store.asked.wait()
            worker.stop()
            store.may_answer.set()
            await running
        assert played.server.requests == []
        assert await store.claim(TENANT, QUEUE, lease_s=1.0) is not None


async def test_a_busy_tenant_does_not_starve_the_others() -> None:
    store = MemoryBackend()
    for tenant in ("busy", "busy", "busy", "quiet"):
        await store.enqueue(tenant, QUEUE, b"1")
    operator = Operator(store, ["busy", "quiet"])
    claimed = [await operator.claim(QUEUE, lease_s=30.0) for _ in range(3)]
    assert [found[0] for found in claimed if found is not None] == ["busy", "quiet", "busy"]


@pytest.mark.parametrize("body", [b"no json", b"[1]", b'""'])
async def test_a_job_that_names_no_task_ends_no_worker(body: bytes) -> None:
    async with stage(lambda results: says("Hello.")) as played:
        await played.store.enqueue(TENANT, QUEUE, body)
        task = await played.agent.submit(TENANT, ASK)
        assert [envelope.task_id for envelope in await played.worker().drain()] == [task.task_id]
        assert await played.store.claim(TENANT, QUEUE, lease_s=1.0) is None


async def test_an_error_of_the_users_own_code_ends_the_work_and_gives_the_job_back() -> None:
    def broken(tenant: str) -> dict[str, str]:
        raise KeyError(tenant)

    store = MemoryBackend()
    async with stage(lambda results: says("Hello."), store=store, credentials=broken) as played:
        await played.agent.submit(TENANT, ASK)
        assert await played.worker().drain() == []
        assert await store.claim(TENANT, QUEUE, lease_s=1.0) is None, "it rests before it is tried again"
        [work] = store._work[TENANT, QUEUE]
        assert not work.token


class Reversed:
    """A cipher; its key is whether it turns values round."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def encrypt(self, data: bytes) -> bytes:
        return self._key + data[::-1]

    def decrypt(self, data: bytes) -> bytes:
        if not data.startswith(self._key):
            raise ValueError("wrong key")
        return data[len(self._key) :][::-1]


async def test_a_worker_with_another_key_keeps_no_job_from_the_others() -> None:
    inner = MemoryBackend()
    right, wrong = (EncryptedBackend(inner, Reversed(key)) for key in (b"a", b"b"))
    async with stage(lambda results: says("Hello."), store=right) as played:
        task = await played.agent.submit(TENANT, ASK)
        async with stage(lambda results: says("Hello."), store=wrong) as other:
            assert await Worker(other.agent, [TENANT]).drain() == []
        [work] = inner._work[TENANT, QUEUE]
        assert not work.token
        await inner.enqueue(TENANT, QUEUE, Reversed(b"a").encrypt(orjson.dumps(task.task_id)))
        [envelope] = await played.worker().drain()
        assert envelope.state == "succeeded"


async def test_a_cancelled_task_keeps_its_lease_while_its_writes_are_found_out() -> None:
    """Finding out may take longer than a lease; nobody else may do the same meanwhile."""
    started, asked, extended = asyncio.Event(), asyncio.Event(), asyncio.Event()

    class Watched(MemoryBackend):
        async def extend(self, tenant: str, queue: str, job: Job, *, lease_s: float) -> bool:
            if asked.is_set():
                extended.set()
            return await super().extend(tenant, queue, job, lease_s=lease_s)

    async def find(context: ToolContext) -> NotExecuted:
        asked.set()
        await extended.wait()
        return NotExecuted(final=True)

    @tool(side_effect="idempotent", query=find)
    async def send(context: ToolContext) -> None:
        started.set()
        await asyncio.Event().wait()

    async with stage(lambda results: calls(("send", {})), [send], store=Watched()) as played:
        task = await played.agent.submit(TENANT, ASK)
        first = played.worker(grace_s=0.01)
        running = asyncio.ensure_future(first.run())
        async with asyncio.timeout(10):
            await started.wait()
            first.stop()
            await running
            await played.agent.cancel(TENANT, task.task_id)
            [envelope] = await played.worker().drain()
    assert envelope.state == "aborted"


async def test_who_looks_on_at_a_model_ends_no_work(caplog: pytest.LogCaptureFixture) -> None:
    heard: list[Event] = []

    def broken(event: Event) -> None:
        heard.append(event)
        raise ValueError("mine")

    async with stage(lambda results: says("Hello there."), on_event=broken) as played:
        await played.agent.submit(TENANT, ASK)
        assert [each.state for each in await played.worker().drain()] == ["succeeded"]
    assert len(heard) == 1
    assert "on_event failed" in caplog.text


async def test_a_model_that_cannot_be_reached_is_named() -> None:
    async with stage(lambda results: says("Hello."), faults=[Fault.no_response()] * 9) as played:
        task = await played.agent.submit(TENANT, ASK)
        [envelope] = await played.worker().drain()
        failed = await load_task(played.store, TENANT, task.task_id)
    assert envelope.state == "terminal_failed"
    assert failed.why.startswith("NoConnection: ServerDisconnectedError: ")
    assert len(played.server.requests) == failed.attempts > 1
