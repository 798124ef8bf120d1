"""A task is accepted with a job, and worked on by one job at a time, however many it has got."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson
import pytest

from seamstream.errors import ConfigurationError, StoreError
from seamstream.stores.backend import Key, Operator
from seamstream.stores.memory_backend import MemoryBackend
from seamstream.tasks import Agent, FileRef, ToolContext, Worker, tool
from seamstream.tasks.creating import MAX_MISSING
from seamstream.tasks.deciding import resolve_call
from seamstream.tasks.reading import QUEUE, load_task
from seamstream.tasks.refusal import Refused
from seamstream.testing import FakeClock
from tests.tasks.playing import ASK, TENANT, Gate, QuickClock, stage
from tests.tasks.scripted import calls, says


def wrong(value: object) -> Any:
    return value


async def test_a_second_job_takes_the_task_from_nobody() -> None:
    gate = Gate("book")

    script = lambda results: says("Done.") if results else calls(("book", {}))  # noqa: E731
    clock = FakeClock()
    async with stage(script, [gate.tool], store=MemoryBackend(clock=clock)) as played, asyncio.timeout(10):
        task = await played.agent.submit(TENANT, ASK)
        first = asyncio.ensure_future(played.worker().drain())
        await gate.arrived.wait()
        await played.agent.enqueue(TENANT, task.task_id)
        assert await played.worker().drain() == []
        gate.may_end.set()
        [envelope] = await first
        await clock.advance(31.0)
        assert [each.state for each in await played.worker().drain()] == ["succeeded"]
        assert await played.store.claim(TENANT, QUEUE, lease_s=1.0) is None
        assert (await load_task(played.store, TENANT, task.task_id)).epoch == 1
    assert envelope.state == "succeeded"


async def test_a_second_job_goes_on_when_the_owner_of_the_first_has_died() -> None:
    clock = FakeClock()
    store = MemoryBackend(clock=clock)
    async with stage(lambda results: says("Hello."), store=store) as played:
        task = await played.agent.submit(TENANT, ASK)
        lost = await store.claim(TENANT, QUEUE, lease_s=3600.0)
        assert lost is not None
        await store.put(TENANT, ("worked", task.task_id), lost.id.encode(), ttl_s=30.0)
        await played.agent.enqueue(TENANT, task.task_id)
        assert await played.worker().drain() == []
        await clock.advance(31.0)
        assert [each.state for each in await played.worker().drain()] == ["succeeded"]


async def test_people_do_not_take_a_task_from_a_worker_that_is_busy_with_it() -> None:
    gate = Gate("book")

    @tool(side_effect="idempotent", allow_manual=True)
    async def lose(context: ToolContext) -> None:
        raise OSError("the answer was lost")

    script = lambda results: says("Done.") if results else calls(("lose", {}), ("book", {}))  # noqa: E731
    async with stage(script, [lose, gate.tool]) as played, asyncio.timeout(10):
        task = await played.agent.submit(TENANT, ASK)
        at = (played.store, TENANT, task.task_id, "1-1")
        running = asyncio.ensure_future(played.worker().drain())
        await gate.arrived.wait()
        with pytest.raises(Refused, match="a worker is at work on task"):
            await resolve_call(*at, "executed", by="Ada", clock=QuickClock())
        gate.may_end.set()
        [envelope] = await running
        assert envelope.state == "waiting_compensation"
        await resolve_call(*at, "executed", by="Ada", clock=QuickClock())
        assert [each.state for each in await played.worker().drain()] == ["succeeded"]


class Late(MemoryBackend):
    """Writes a task's record only when workers have given its job up."""

    async def compare_and_set(self, tenant: str, key: Key, *args: Any, **options: Any) -> Any:
        if key[0] == "task" and options["revision"] == 0:
            for _ in range(MAX_MISSING):
                job = await self.claim(tenant, QUEUE, lease_s=30.0)
                assert job is not None
                await self.release(tenant, QUEUE, job)
            assert await self.ack(tenant, QUEUE, await self.claim(tenant, QUEUE, lease_s=30.0))  # type: ignore[arg-type]
        return await super().compare_and_set(tenant, key, *args, **options)


class Slow(QuickClock):
    """Three seconds pass between any two looks at it."""

    passed = 0.0

    def monotonic(self) -> float:
        self.passed += 3.0
        return self.passed


async def test_a_task_that_was_accepted_late_has_a_job() -> None:
    async with stage(lambda results: says("Hello."), store=Late()) as played:
        async with Agent(played.agent.model, [], played.store, clock=Slow()) as agent:
            await agent.submit(TENANT, ASK)
        assert [each.state for each in await played.worker().drain()] == ["succeeded"]


class Eager(MemoryBackend):
    """A worker takes the task between its record and the first entry of its ledger."""

    async def append(self, tenant: str, log: Key, values: Any, **options: Any) -> Any:
        if options.get("after") == 0 and not self.begun:
            self.begun = True
            self.states = [each.state for each in await self.worker.drain()]
        return await super().append(tenant, log, values, **options)

    begun = False
    worker: Worker
    states: list[str]


async def test_a_worker_may_be_quicker_than_who_submits() -> None:
    store = Eager()
    async with stage(lambda results: says("Hello."), store=store) as played:
        store.worker = played.worker()
        task = await played.agent.submit(TENANT, ASK)
        events = [entry.event for entry in await played.entries(task.task_id)]
    assert store.states == ["succeeded"]
    assert events.count("task_created") == 1


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"tenant": None}, "None is no str"),
        ({"tenant": "\udc80"}, "surrogates not allowed"),
        ({"task_id": 5}, "5 is no str"),
        ({"origin": None}, "None is no str"),
        ({"files": [FileRef("f", 0, "sha256:0", wrong("2030-01-01"))]}, "'2030-01-01' is no float"),
        ({"request": {"messages": [{"role": "user", "content": "\ud800"}]}}, "surrogates not allowed"),
        ({"request": {"messages": {1, 2}}}, "not JSON serializable"),
    ],
)
async def test_what_could_not_be_read_again_is_not_accepted(given: dict[str, Any], why: str) -> None:
    async with stage(lambda results: says("Hello.")) as played:
        with pytest.raises(ConfigurationError, match=why):
            await played.agent.submit(**{"tenant": TENANT, "request": ASK, **given})
        assert await played.store.claim(TENANT, QUEUE, lease_s=1.0) is None


@pytest.mark.parametrize(
    "options",
    [{"tenants": "acme"}, {"tenants": []}, {"concurrency": 0}, {"lease_s": 0.0}, {"grace_s": -1.0}],
    ids=str,
)
async def test_a_worker_that_could_do_nothing_is_refused(options: dict[str, Any]) -> None:
    async with stage(lambda results: says("Hello.")) as played:
        with pytest.raises(ConfigurationError):
            Worker(played.agent, **{"tenants": [TENANT], **options})


async def test_tenants_may_come_one_by_one() -> None:
    assert Operator(MemoryBackend(), wrong(name for name in ("a", "b", "a"))).tenants == ("a", "b")


class Unreadable(MemoryBackend):
    async def claim(self, tenant: str, *args: Any, **options: Any) -> Any:
        if tenant == "other":
            raise StoreError("a stored value cannot be decrypted")
        return await super().claim(tenant, *args, **options)


async def test_a_tenant_whose_jobs_cannot_be_claimed_starves_no_other() -> None:
    store = Unreadable()
    await store.enqueue(TENANT, QUEUE, orjson.dumps("t"))
    operator = Operator(store, ["other", TENANT])
    with pytest.raises(StoreError):
        await operator.claim(QUEUE, lease_s=30.0)
    claimed = await operator.claim(QUEUE, lease_s=30.0)
    assert claimed is not None
    assert claimed[0] == TENANT
