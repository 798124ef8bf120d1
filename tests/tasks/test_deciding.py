"""What a person decides about a tool call goes into the records and the ledger, once, and work goes on."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from seamstream.stores.memory_backend import MemoryBackend
from seamstream.tasks.deciding import Decision, resolve_call
from seamstream.tasks.operating import cancel_task
from seamstream.tasks.refusal import Refused
from tests.tasks.operated import BOOKED, CLOCK, NO_WAY_BACK, NOT_BOOKED, Office, office

At = tuple[Office, str]


@pytest.fixture
async def stuck() -> AsyncIterator[At]:
    async with office(MemoryBackend(), loses=frozenset({1}), **NO_WAY_BACK) as opened:
        task_id = await opened.submit()
        assert await opened.work() == ["waiting_compensation"]
        yield opened, task_id


@pytest.fixture
async def asking() -> AsyncIterator[At]:
    async with office(MemoryBackend(), approval=True) as opened:
        task_id = await opened.submit()
        assert await opened.work() == ["waiting"]
        yield opened, task_id


async def decide(at: At, decision: Decision, **options: Any) -> None:
    await resolve_call(at[0].store, "acme", at[1], "1-1", decision, by="Ada", clock=CLOCK, **options)


async def test_a_call_that_took_place_is_not_run_again(stuck: At) -> None:
    where, task_id = stuck
    await decide(stuck, "executed", result='{"booked": "Ritz"}')
    assert await where.work() == ["succeeded"]
    assert await where.agent.answer("acme", task_id) == BOOKED
    assert await where.books() == 1
    call = await where.call(task_id)
    assert (call.status, call.resolution, call.manual, call.error) == ("succeeded", "person", False, None)
    told = [entry for entry in await where.told(task_id) if entry.event == "tool_succeeded"]
    assert [(entry.details["resolution"], entry.details["by"]) for entry in told] == [("person", "Ada")]
    assert "Ritz" not in str(told)


async def test_a_call_that_did_not_take_place_is_told_to_the_model(stuck: At) -> None:
    where, task_id = stuck
    await decide(stuck, "not_executed")
    assert await where.work() == ["succeeded"]
    assert await where.agent.answer("acme", task_id) == NOT_BOOKED
    assert await where.books() == 1


async def test_the_same_decision_again_changes_nothing(stuck: At) -> None:
    where, task_id = stuck
    await decide(stuck, "not_executed")
    before = await where.told(task_id)
    await decide(stuck, "not_executed")
    assert await where.told(task_id) == before
    with pytest.raises(Refused, match="does not wait for a person"):
        await decide(stuck, "executed")


async def test_a_call_of_a_cancelled_task_can_still_be_settled(stuck: At) -> None:
    where, task_id = stuck
    await cancel_task(where.store, "acme", task_id)
    assert await where.work() == ["aborted"]
    await decide(stuck, "executed")
    assert (await where.call(task_id)).status == "succeeded"
    assert await where.work() == []
    assert (await where.task(task_id)).state == "aborted"


async def test_an_approved_call_is_run(asking: At) -> None:
    where, task_id = asking
    assert await where.books() == 0
    await decide(asking, "approve")
    assert await where.work() == ["succeeded"]
    assert await where.books() == 1
    answers = [e.details["answer"] for e in await where.told(task_id) if e.event == "tool_approval"]
    assert answers == ["wait", "approve"]


async def test_a_denied_call_is_not_run(asking: At) -> None:
    where, task_id = asking
    await decide(asking, "deny")
    assert await where.work() == ["succeeded"]
    assert await where.books() == 0
    assert await where.agent.answer("acme", task_id) == NOT_BOOKED


@pytest.mark.parametrize("decision", ["executed", "not_executed", "undone"])
async def test_who_waits_for_approval_has_nothing_to_settle(asking: At, decision: Decision) -> None:
    with pytest.raises(Refused):
        await decide(asking, decision)


async def test_who_waits_to_be_settled_cannot_be_approved(stuck: At) -> None:
    with pytest.raises(Refused, match="does not wait for approval"):
        await decide(stuck, "approve")


@pytest.mark.parametrize(("result", "why"), [("{", "is no JSON"), (f'"{"x" * 40_000}"', "larger than")])
async def test_a_result_that_cannot_be_kept_is_refused(stuck: At, result: str, why: str) -> None:
    with pytest.raises(Refused, match=why):
        await decide(stuck, "executed", result=result)
    assert (await stuck[0].call(stuck[1])).manual


async def test_a_call_that_is_not_there(stuck: At) -> None:
    with pytest.raises(Refused, match="has no tool call '9-9'"):
        await resolve_call(stuck[0].store, "acme", stuck[1], "9-9", "executed", by="Ada", clock=CLOCK)


async def test_a_call_that_a_hook_had_approved_is_settled_by_what_became_of_it() -> None:
    approves: Any = lambda context, name, arguments: "approve"  # noqa: E731
    async with office(MemoryBackend(), loses=frozenset({1}), **NO_WAY_BACK) as opened:
        opened.agent.approve = approves
        task_id = await opened.submit()
        assert await opened.work() == ["waiting_compensation"]
        with pytest.raises(Refused, match="call 1-1 is unknown"):
            await decide((opened, task_id), "approve")
        assert await opened.work() == []
