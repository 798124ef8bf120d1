"""What people do with tasks: cancel, retry, end, compare, undo. Nothing of it runs a write twice."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from seamstream.errors import StoreError
from seamstream.recovery.policy import RecoveryPolicy
from seamstream.stores.memory_backend import MemoryBackend
from seamstream.tasks import Agent, read_ledger
from seamstream.tasks.audit import audit
from seamstream.tasks.deciding import resolve_call
from seamstream.tasks.journal import TaskJournal
from seamstream.tasks.ledger import chain_problems
from seamstream.tasks.operating import (
    cancel_task,
    compare_code,
    end_task,
    list_tasks,
    retry_task,
    wake_task,
)
from seamstream.tasks.refusal import Refused
from seamstream.tasks.undoing import undo_calls, undo_of
from tests.tasks.operated import CLOCK, NO_WAY_BACK, Office, office
from tests.tasks.playing import ASK, TENANT, stage
from tests.tasks.scripted import says
from tests.tasks.service import booking_tool


@pytest.fixture
async def plain() -> AsyncIterator[Office]:
    async with office(MemoryBackend()) as opened:
        yield opened


@pytest.fixture
async def stuck() -> AsyncIterator[tuple[Office, str]]:
    """A task whose only write is unknown, and can be neither asked for nor undone."""
    async with office(MemoryBackend(), loses=frozenset({1}), **NO_WAY_BACK) as opened:
        task_id = await opened.submit()
        assert await opened.work() == ["waiting_compensation"]
        yield opened, task_id


async def test_tasks_are_listed_by_age_and_state(plain: Office) -> None:
    first = await plain.submit()
    assert await plain.work() == ["succeeded"]
    second = await plain.submit()
    assert [task.task_id for task in await list_tasks(plain.store, "acme")] == [first, second]
    running = await list_tasks(plain.store, "acme", states=["running"])
    assert [task.task_id for task in running] == [second]
    assert await list_tasks(plain.store, "other") == []


# ---------------------------------------------------------------- cancel


async def test_a_cancelled_task_is_ended_by_a_worker(plain: Office) -> None:
    task_id = await plain.submit()
    assert (await cancel_task(plain.store, "acme", task_id)).state == "running"
    asked = await audit(plain.store, "acme", task_id, now_s=CLOCK.wall())
    assert "was cancelled, and has not ended yet" in asked.rows[5].notes[0].text
    assert await plain.work() == ["aborted"]
    with pytest.raises(Refused, match="is over: it is aborted"):
        await cancel_task(plain.store, "acme", task_id)


async def test_a_waiting_task_is_woken_to_be_cancelled(stuck: tuple[Office, str]) -> None:
    at, task_id = stuck
    await cancel_task(at.store, "acme", task_id)
    assert await at.work() == ["aborted"]


# ---------------------------------------------------------------- retry


async def test_a_retry_is_a_new_task_that_names_the_old_one(plain: Office) -> None:
    old = await plain.submit()
    await plain.work()
    before = await plain.told(old)
    new = await retry_task(plain.store, "acme", old, clock=CLOCK, new_id="again")
    assert (new.task_id, new.origin, new.attempts, new.state) == ("again", old, 0, "running")
    assert await plain.work() == ["succeeded"]
    assert await plain.told(old) == before
    made = await audit(plain.store, "acme", "again", now_s=CLOCK.wall())
    told = [note.text for note in made.answers[2].notes]
    assert f"the same request, files, sources and schema as task {old}" in told
    keys = [key for action, key in plain.service.calls if action == "book"]
    assert [key.rpartition(":")[0] for key in keys] == [f"{old}:1-1", "again:1-1"]


async def test_a_task_that_is_not_over_is_not_retried(plain: Office) -> None:
    task_id = await plain.submit()
    with pytest.raises(Refused, match="cancel it or roll it back first"):
        await retry_task(plain.store, "acme", task_id, clock=CLOCK)


async def test_a_task_with_an_unknown_write_is_not_retried(stuck: tuple[Office, str]) -> None:
    at, task_id = stuck
    await end_task(at.store, "acme", task_id, by="Ada", clock=CLOCK)
    with pytest.raises(Refused, match="the outcome of tool call 1-1 \\(book\\) is unknown"):
        await retry_task(at.store, "acme", task_id, clock=CLOCK)
    await resolve_call(at.store, "acme", task_id, "1-1", "not_executed", by="Ada", clock=CLOCK)
    assert (await retry_task(at.store, "acme", task_id, clock=CLOCK)).origin == task_id


async def test_the_id_of_a_retry_must_be_free(plain: Office) -> None:
    task_id = await plain.submit()
    await plain.work()
    with pytest.raises(StoreError, match="already"):
        await retry_task(plain.store, "acme", task_id, clock=CLOCK, new_id=task_id)


# ---------------------------------------------------------------- task layer


async def test_an_unfinished_task_is_ended(plain: Office) -> None:
    task_id = await plain.submit()
    ended = await end_task(plain.store, "acme", task_id, by="Ada", clock=CLOCK)
    assert (ended.state, ended.why) == ("terminal_failed", "rolled_back: by Ada")
    last = (await plain.told(task_id))[-1]
    assert (last.event, last.details) == ("task_failed", {"why": "rolled_back", "by": "Ada"})
    assert await plain.work() == ["terminal_failed"]
    assert plain.service.calls == []
    with pytest.raises(Refused, match="is over"):
        await end_task(plain.store, "acme", task_id, by="Ada", clock=CLOCK)


async def test_a_step_ends_with_its_task(stuck: tuple[Office, str]) -> None:
    at, task_id = stuck
    await end_task(at.store, "acme", task_id, by="Ada", clock=CLOCK)
    events = [entry.event for entry in await at.told(task_id)]
    assert events[-2:] == ["step_failed", "task_failed"]
    assert (await at.call(task_id)).manual


async def test_a_task_is_not_ended_while_a_write_may_be_under_way(stuck: tuple[Office, str]) -> None:
    at, task_id = stuck
    journal = await TaskJournal.take(at.store, "acme", task_id, owner="w", clock=CLOCK)
    await journal.change_invocation("1-1", status="started", manual=False)
    with pytest.raises(Refused, match="may be under way"):
        await end_task(at.store, "acme", task_id, by="Ada", clock=CLOCK)
    assert not (await at.task(task_id)).over
    assert (await at.task(task_id)).owner == "w"


# ---------------------------------------------------------------- side effects


async def test_effects_are_undone_once_by_their_compensation(plain: Office) -> None:
    task_id = await plain.submit()
    await plain.work()
    assert len(plain.service.booked) == 1
    for _ in range(2):
        undone = await undo_calls(plain.agent, "acme", task_id, by="Ada")
        assert [(each.call.id, each.undo) for each in undone] == [("1-1", "undone")]
    assert plain.service.booked == {}
    assert [action for action, _ in plain.service.calls].count("cancel") == 1
    entries = await plain.told(task_id)
    assert chain_problems(entries) == []
    assert undo_of(entries, "1-1") == "undone"
    made = await audit(plain.store, "acme", task_id, now_s=CLOCK.wall())
    assert made.answers[1].notes[0].text == "1-1 book (compensatable): undone"


async def test_effects_without_a_compensation_are_for_people() -> None:
    async with office(MemoryBackend(), **NO_WAY_BACK) as at:
        task_id = await at.submit()
        assert await at.work() == ["succeeded"]
        with pytest.raises(Refused, match="nobody was asked to undo"):
            await resolve_call(at.store, "acme", task_id, "1-1", "undone", by="Ada", clock=CLOCK)
        undone = await undo_calls(at.agent, "acme", task_id, by="Ada")
        assert [each.undo for each in undone] == ["asked"]
        await resolve_call(at.store, "acme", task_id, "1-1", "undone", by="Ada", clock=CLOCK)
        last = (await at.told(task_id))[-1]
        assert (last.event, last.details["by"], last.details["outcome"]) == (
            "tool_compensated",
            "Ada",
            "undone",
        )
        assert (await at.task(task_id)).state == "succeeded"


async def test_a_compensation_that_fails_is_for_people() -> None:
    async with office(MemoryBackend()) as at:
        task_id = await at.submit()
        await at.work()
        unreachable = Agent(at.agent.model, [booking_tool("http://127.0.0.1:1")], at.store)
        undone = await undo_calls(unreachable, "acme", task_id, by="Ada")
        assert [each.undo for each in undone] == ["asked"]
        outcomes = [entry.details.get("outcome") for entry in await at.told(task_id)]
        assert "failed: ClientConnectorError" in outcomes


async def test_effects_of_a_task_that_runs_are_not_undone(stuck: tuple[Office, str]) -> None:
    at, task_id = stuck
    with pytest.raises(Refused, match="end it before"):
        await undo_calls(at.agent, "acme", task_id, by="Ada")
    await end_task(at.store, "acme", task_id, by="Ada", clock=CLOCK)
    with pytest.raises(Refused, match="resolve it first"):
        await undo_calls(at.agent, "acme", task_id, by="Ada")


# ---------------------------------------------------------------- code


async def test_code_is_compared_with_what_first_worked(plain: Office) -> None:
    task_id = await plain.submit()
    with pytest.raises(Refused, match="no worker has begun"):
        await compare_code(plain.store, "acme", task_id)
    await plain.work()
    same = await compare_code(plain.store, "acme", task_id, policy=plain.agent.model.policy)
    assert (same.pins, same.policy_differs) == ((), False)
    assert same.ran == same.installed
    other = await compare_code(plain.store, "acme", task_id, policy=RecoveryPolicy(max_recoveries=0))
    assert other.policy_differs is True


async def test_what_differs_is_to_be_pinned(plain: Office) -> None:
    task_id = await plain.submit()
    journal = await TaskJournal.take(plain.store, "acme", task_id, owner="w", clock=CLOCK)
    older = {"seamstream": "0.0.9", "aiohttp": "3.12.6"}
    await journal.tell(journal.fact("worker_versions", versions=older, policy_digest="x"))
    await plain.work()
    assert len(await read_ledger(plain.store, "acme", task_id)) > 5
    found = await compare_code(plain.store, "acme", task_id)
    assert found.pins == ("aiohttp==3.12.6", "seamstream==0.0.9")
    assert found.policy_differs is None


async def test_a_task_that_waits_is_woken_when_what_it_waited_for_is_there() -> None:
    given: list[dict[str, str]] = []
    script = lambda results: says("Hello.")  # noqa: E731
    async with stage(script, credentials=lambda tenant: given[0] if given else None) as played:
        task = await played.agent.submit(TENANT, ASK)
        with pytest.raises(Refused, match="is running: it does not wait"):
            await wake_task(played.store, TENANT, task.task_id)
        assert [each.state for each in await played.worker().drain()] == ["waiting"]
        given.append({"Authorization": "Bearer key"})
        assert await played.worker().drain() == []
        assert (await wake_task(played.store, TENANT, task.task_id)).state == "waiting"
        assert [each.state for each in await played.worker().drain()] == ["succeeded"]
        with pytest.raises(Refused, match="is succeeded: it does not wait"):
            await wake_task(played.store, TENANT, task.task_id)
