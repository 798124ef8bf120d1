"""Workers: handing over, waiting for credentials, jobs without a task, errors of the store."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson
import pytest
from obstore.store import MemoryStore

from seamstream.errors import StoreError
from seamstream.stores.memory_backend import MemoryBackend
from seamstream.stores.url import open_store
from seamstream.tasks import Agent, Pending, ResultStore, ToolContext, Worker, tool
from seamstream.tasks.invoking import MAX_EXECUTIONS
from seamstream.tasks.journal import TaskJournal
from seamstream.tasks.reading import QUEUE, load_task
from seamstream.tasks.working import MAX_MISSING
from seamstream.testing import FakeClock
from seamstream.testing.faults import Fault
from tests.tasks.dying import DyingBackend
from tests.tasks.playing import ASK, TENANT, Gate, QuickClock, stage, until
from tests.tasks.scripted import calls, says


async def test_a_worker_that_stops_hands_its_stream_over() -> None:
    """The answer goes on from the checkpoint; the reader of the task sees one attempt more."""
    text = "One two three four five six seven eight nine ten."
    async with stage(lambda results: says(text), [], [Fault.stall(after_events=8)]) as played:
        task = await played.agent.submit(TENANT, ASK)
        worker = played.worker()
        running = asyncio.ensure_future(worker.run())
        async with asyncio.timeout(10):
            await until(lambda: bool(played.server.requests and len(played.server.requests[0].sent) > 500))
            worker.stop()
            await running
        handed = [entry.event for entry in await played.entries(task.task_id)]
        assert handed[-1] == "task_handed_over"
        assert "task_failed" not in handed
        [envelope] = await played.worker().drain()
        assert envelope.state == "succeeded"
        assert await played.agent.answer(TENANT, task.task_id) == text
        entries = await played.entries(task.task_id)
    assert [entry.event for entry in entries].count("recovery_started") == 1
    assert sum(entry.event == "task_taken_over" for entry in entries) == 1


async def test_a_tool_that_runs_comes_to_its_end_first() -> None:
    gate = Gate("send")

    script = lambda results: says("Sent.") if results else calls(("send", {}))  # noqa: E731
    async with stage(script, [gate.tool]) as played:
        task = await played.agent.submit(TENANT, ASK)
        worker = played.worker()
        running = asyncio.ensure_future(worker.run())
        async with asyncio.timeout(10):
            await gate.arrived.wait()
            worker.stop()
            gate.may_end.set()
            await running
        events = [entry.event for entry in await played.entries(task.task_id)]
        assert events[-3:] == ["tool_succeeded", "step_succeeded", "task_handed_over"]
        [envelope] = await played.worker().drain()
        assert envelope.state == "succeeded"


async def test_without_a_credential_a_task_waits_and_asks_nobody() -> None:
    secrets: dict[str, dict[str, str]] = {}
    async with stage(lambda results: says("Hello."), credentials=secrets.get) as played:
        task = await played.agent.submit(TENANT, ASK)
        [envelope] = await played.worker().drain()
        assert envelope.state == "waiting"
        assert (await load_task(played.store, TENANT, task.task_id)).why == "there is no credential"
        assert played.server.requests == []
        secrets[TENANT] = {"Authorization": "Bearer s3cret"}
        await played.agent.enqueue(TENANT, task.task_id)
        [envelope] = await played.worker().drain()
        assert envelope.state == "succeeded"
        assert played.server.requests[0].headers["authorization"] == "Bearer s3cret"


async def test_a_job_without_a_task_is_dropped_after_some_time() -> None:
    async with stage(lambda results: says("Hello.")) as played:
        await played.store.enqueue(TENANT, QUEUE, orjson.dumps("nobody"))
        seen = 0
        while (job := await played.store.claim(TENANT, QUEUE, lease_s=30.0)) is not None:
            seen = job.deliveries
            await played.store.release(TENANT, QUEUE, job)
            if seen == MAX_MISSING - 1:
                break
        assert await played.worker().drain() == []
        assert await played.store.claim(TENANT, QUEUE, lease_s=30.0) is None


async def test_two_owners_of_one_task_cannot_both_write() -> None:
    async with stage(lambda results: says("Hello.")) as played:
        task = await played.agent.submit(TENANT, ASK)
        clock = QuickClock()
        first = await TaskJournal.take(played.store, TENANT, task.task_id, owner="a", clock=clock)
        second = await TaskJournal.take(played.store, TENANT, task.task_id, owner="b", clock=clock)
        with pytest.raises(StoreError, match="another owner"):
            await first.change_task(first.fact("late"), why="late")
        with pytest.raises(StoreError, match="another owner"):
            await first.tell(first.fact("late"))
        await second.tell(second.fact("in_time"))
        assert [entry.event for entry in await played.entries(task.task_id)][-1] == "in_time"


async def test_of_many_takers_at_once_each_epoch_has_one_owner(tmp_path: Any) -> None:
    url = f"sqlite:///{tmp_path}/store.db"
    async with (
        open_store(url) as store,
        open_store(url) as other,
        stage(lambda results: says("Hello."), store=store) as played,
    ):
        task = await played.agent.submit(TENANT, ASK)
        takes = [
            TaskJournal.take(handle, TENANT, task.task_id, owner=str(n), clock=QuickClock())
            for n in range(20)
            for handle in (store, other)
        ]
        taken = await asyncio.gather(*takes, return_exceptions=True)
        entries = await played.entries(task.task_id)
    won = [journal for journal in taken if isinstance(journal, TaskJournal)]
    assert won
    assert all(isinstance(each, TaskJournal | StoreError) for each in taken)
    epochs = [entry.epoch for entry in entries]
    assert epochs == sorted(epochs)
    assert len({journal.task.epoch for journal in won}) == len(won)


async def test_a_store_that_fails_ends_the_work_and_not_the_task() -> None:
    class Failing(MemoryBackend):
        broken = False

        async def compare_and_set(self, *args: Any, **options: Any) -> Any:
            if self.broken:
                raise StoreError("the disk is full")
            return await super().compare_and_set(*args, **options)

    store = Failing()

    @tool(side_effect="none")
    async def look(context: ToolContext) -> str:
        store.broken = True
        return "seen"

    script = lambda results: says("Seen.") if results else calls(("look", {}))  # noqa: E731
    async with stage(script, [look], store=store) as played:
        task = await played.agent.submit(TENANT, ASK)
        assert await played.worker().drain() == []
        store.broken = False
        assert (await load_task(store, TENANT, task.task_id)).state == "running"
        assert await store.claim(TENANT, QUEUE, lease_s=1.0) is None, "it rests before it is tried again"


async def test_a_call_that_ends_its_workers_is_given_up() -> None:
    """Each of them dies while the tool runs; the sixth does not start it again."""
    started = asyncio.Event()
    runs = 0

    @tool(side_effect="none")
    async def look(context: ToolContext) -> str:
        nonlocal runs
        runs += 1
        started.set()
        return await asyncio.Event().wait()  # type: ignore[return-value]

    script = lambda results: says("; ".join(results)) if results else calls(("look", {}))  # noqa: E731
    clock = FakeClock()
    async with stage(script, [look], store=MemoryBackend(clock=clock)) as played:
        task = await played.agent.submit(TENANT, ASK)
        for _ in range(MAX_EXECUTIONS):
            started.clear()
            lost = DyingBackend(played.store, 0, "before")
            async with Agent(played.agent.model, [look], lost, clock=QuickClock()) as agent:
                dying = asyncio.ensure_future(Worker(agent, [TENANT]).drain())
                await started.wait()
                lost.dead = True
                dying.cancel()
                await asyncio.gather(dying, return_exceptions=True)
            await clock.advance(31.0)
        await played.worker().drain()
        answer = await played.agent.answer(TENANT, task.task_id)
    assert runs == MAX_EXECUTIONS
    assert answer == f"its worker was lost {MAX_EXECUTIONS} times while it ran"


async def test_all_of_a_task_can_be_forgotten() -> None:
    @tool(side_effect="none")
    async def look(context: ToolContext) -> str:
        return "x" * 5000

    objects = MemoryStore()
    results = ResultStore(objects, inline_bytes=1000)
    script = lambda results: says("Seen.") if results else calls(("look", {}))  # noqa: E731
    async with stage(script, [look], results=results) as played:
        task = await played.agent.submit(TENANT, ASK)
        with pytest.raises(StoreError, match="is not over"):
            await played.agent.forget(TENANT, task.task_id)
        await played.worker().drain()
        assert len(objects.list().collect()) == 1
        await played.agent.forget(TENANT, task.task_id)
        assert [key async for key, _ in played.store.scan(TENANT)] == []
        assert await played.entries(task.task_id) == []
        assert objects.list().collect() == []


@pytest.mark.parametrize("count", [1, 3])
async def test_a_task_may_not_be_recovered_for_ever(count: int) -> None:
    faults = [Fault.reset(after_events=2 + n) for n in range(10)]
    text = "One two three four five six seven eight nine ten."
    async with stage(lambda results: says(text), [], faults, max_recoveries=count) as played:
        task = await played.agent.submit(TENANT, ASK)
        [envelope] = await played.worker().drain()
        assert envelope.state == "terminal_failed"
        assert len(played.server.requests) == count + 1
        why = (await load_task(played.store, TENANT, task.task_id)).why
        used = f"all {count} recoveries of the task are used"
        assert why == f"BudgetSpent: {used}; the last attempt ended with ConnectionReset"
        with pytest.raises(StoreError, match="has no answer"):
            await played.agent.answer(TENANT, task.task_id)


async def test_a_call_that_is_not_to_start_any_more_cuts_off_none_beside_it() -> None:
    writing, asking, may_end = asyncio.Event(), asyncio.Event(), asyncio.Event()

    @tool(side_effect="idempotent", allow_manual=True, parallel=True)
    async def book(context: ToolContext) -> str:
        writing.set()
        await may_end.wait()
        return "booked"

    @tool(side_effect="idempotent", allow_manual=True, parallel=True)
    async def mail(context: ToolContext) -> str:
        return "sent"

    async def approve(context: ToolContext, name: str, arguments: dict[str, Any]) -> Any:
        if name == "mail" and not may_end.is_set():
            await writing.wait()
            asking.set()
            await may_ask.wait()
        return "approve"

    may_ask = asyncio.Event()
    script = lambda results: says("Done.") if results else calls(("book", {}), ("mail", {}))  # noqa: E731
    async with stage(script, [book, mail], approve=approve) as played, asyncio.timeout(10):
        task = await played.agent.submit(TENANT, ASK)
        worker = played.worker()
        running = asyncio.ensure_future(worker.run())
        await asking.wait()
        worker.stop()
        may_ask.set()
        while (await played.entries(task.task_id))[-1].event != "tool_approval":  # noqa: ASYNC110
            await asyncio.sleep(0)
        may_end.set()
        await running
        [step] = await played.steps(task.task_id)
        assert [call.status for call in step.tool_calls] == ["succeeded", "planned"]
        assert [each.state for each in await played.worker().drain()] == ["succeeded"]


async def test_a_job_that_runs_elsewhere_holds_up_no_stop() -> None:
    polled = asyncio.Event()
    polls = 0

    async def poll(context: ToolContext, job_id: str) -> Any:
        nonlocal polls
        polls += 1
        polled.set()
        return Pending(after_s=0.0) if polls < 3 else "rendered"

    @tool(side_effect="idempotent", job=poll, allow_manual=True)
    async def render(context: ToolContext) -> str:
        worker.stop()
        return "job-1"

    script = lambda results: says("Done.") if results else calls(("render", {}))  # noqa: E731
    async with stage(script, [render]) as played, asyncio.timeout(10):
        task = await played.agent.submit(TENANT, ASK)
        worker = played.worker()
        await worker.run()
        [step] = await played.steps(task.task_id)
        assert (step.tool_calls[0].job_id, polls) == ("job-1", 1)
        assert [each.state for each in await played.worker().drain()] == ["succeeded"]
        assert polls == 3


class Forgetful(MemoryBackend):
    """Takes no entry of the ledger for one call's success, once."""

    failed: asyncio.Event

    async def append(self, tenant: str, log: Any, values: Any, **options: Any) -> Any:
        if b'"tool_succeeded"' in values[-1] and not self.failed.is_set():
            self.failed.set()
            raise StoreError("the store is away")
        return await super().append(tenant, log, values, **options)


async def test_what_the_ledger_did_not_take_is_told_with_the_next_write() -> None:
    """Calls run side by side, so another write may follow upon the one that failed."""
    store = Forgetful()
    store.failed = asyncio.Event()

    @tool(side_effect="idempotent", allow_manual=True, parallel=True)
    async def book(context: ToolContext, slow: bool) -> str:
        if slow:
            await store.failed.wait()
        return "booked"

    script = lambda results: (  # noqa: E731
        says("Done.") if results else calls(("book", {"slow": True}), ("book", {"slow": False}))
    )
    clock = FakeClock()
    store._clock = clock
    async with stage(script, [book], store=store) as played, asyncio.timeout(10):
        task = await played.agent.submit(TENANT, ASK)
        await played.worker().drain()
        await clock.advance(31.0)
        await played.worker().drain()
        [first, *_] = await played.steps(task.task_id)
        told = [each for each in await played.entries(task.task_id) if each.event == "tool_succeeded"]
    assert [call.status for call in first.tool_calls] == ["succeeded", "succeeded"]
    assert sorted(each.invocation_id for each in told) == ["1-1", "1-2"]
