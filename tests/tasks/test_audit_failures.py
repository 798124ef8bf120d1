"""A task that fails is on record as well as one that succeeds: its audit finds nothing amiss."""

from __future__ import annotations

import asyncio

import pytest

from seamstream.recovery.policy import BackoffPolicy, RecoveryPolicy
from seamstream.stores.memory_backend import MemoryBackend
from seamstream.tasks import Agent, ModelTarget, Worker
from seamstream.tasks.audit import Audit, as_text, audit
from seamstream.testing import Fault, FaultServer
from seamstream.types import Event
from tests.tasks.killing import failing_rows
from tests.tasks.operated import ASK, CLOCK
from tests.tasks.scripted import ScriptedModel, says

MODEL = ScriptedModel(lambda _: says("The room is booked, and breakfast is included."))
QUICK = RecoveryPolicy.agent().replace(backoff=BackoffPolicy(first_s=0.01, max_s=0.01))


async def failed(script: list[Fault], state: str, *, allow_after_start: bool = True) -> Audit:
    """The audit of a task whose model answers by this script."""
    store = MemoryBackend()
    policy = QUICK.replace(allow_after_start=allow_after_start)
    async with FaultServer(MODEL, script) as server:
        target = ModelTarget(server.url_for("openai-chat"), {"model": "m"}, policy=policy)
        async with Agent(target, [], store, max_recoveries=1) as agent:
            task = await agent.submit("acme", ASK)
            assert [ended.state for ended in await Worker(agent, ["acme"]).drain()] == [state]
    return await audit(store, "acme", task.task_id, now_s=CLOCK.wall())


def sent(made: Audit) -> list[str]:
    return [note.text for note in made.answers[0].notes if note.text.startswith("attempt")]


async def test_an_answer_that_never_began() -> None:
    made = await failed([Fault.http_error(401)], "terminal_failed")
    assert failing_rows(made) == {}, as_text(made)
    assert len(sent(made)) == 1
    assert sent(made)[0].startswith("attempt 1: sent nothing, failed")
    assert [note.text for note in made.rows[6].notes] == ["attempt 1: marked as reported by nobody"]


async def test_a_budget_that_was_spent() -> None:
    made = await failed([Fault.reset(after_text=b"room")] * 9, "terminal_failed")
    assert failing_rows(made) == {}, as_text(made)
    assert len(sent(made)) == 2
    assert all("failed (ConnectionReset)" in line for line in sent(made))
    assert [alarm.raised for alarm in made.alarms] == [False, False, None, False, False]


@pytest.mark.parametrize("allowed", [True, False])
async def test_the_switch_decides_whether_an_answer_is_gone_on_with(allowed: bool) -> None:
    state = "succeeded" if allowed else "terminal_failed"
    made = await failed([Fault.reset(after_text=b"room")], state, allow_after_start=allowed)
    assert failing_rows(made) == {}, as_text(made)
    assert len(sent(made)) == (2 if allowed else 1)


async def test_an_answer_that_was_cancelled_while_it_came() -> None:
    store = MemoryBackend()
    heard = asyncio.Event()

    def hear(event: Event) -> None:
        if type(event).__name__ == "TextDelta":
            heard.set()

    async with FaultServer(MODEL, [Fault.stall(after_text=b"room")]) as server:
        target = ModelTarget(server.url_for("openai-chat"), {"model": "m"}, policy=QUICK)
        async with Agent(target, [], store, on_event=hear) as agent:
            task = await agent.submit("acme", ASK)
            working = asyncio.ensure_future(Worker(agent, ["acme"]).drain())
            await heard.wait()
            await agent.cancel("acme", task.task_id)
            assert [ended.state for ended in await working] == ["aborted"]
    made = await audit(store, "acme", task.task_id, now_s=CLOCK.wall())
    assert failing_rows(made) == {}, as_text(made)
    assert "failed (cancelled)" in sent(made)[0]
    assert made.rows[5].verdict == "unknown"
