"""The four answers and the alarms, on tasks that went well, badly, and through many hands."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from pathlib import Path
from typing import Literal

import pytest

from seamstream.stores.memory_backend import MemoryBackend
from seamstream.tasks import Agent, ModelTarget, Worker
from seamstream.tasks.audit import Audit, as_text, audit
from seamstream.tasks.records import Fact
from seamstream.testing import FakeClock, FaultServer
from tests.tasks.audited import Case, Facts, finished
from tests.tasks.dying import Died, DyingBackend
from tests.tasks.scripted import ScriptedModel, calls, says
from tests.tasks.service import Service, booking_tool
from tests.tasks.test_taking_over import LEASE_S, count_writes, script, submit, work_once

ASK = {"messages": [{"role": "user", "content": "Book a room."}]}


def said(made: Audit, number: int) -> str:
    return "\n".join(note.text for note in made.answers[number - 1].notes)


@pytest.fixture
async def case(tmp_path: Path) -> Case:
    return await finished(MemoryBackend(), tmp_path)


async def test_which_attempt_sent_what(case: Case) -> None:
    answer = said(await case.audit(), 1)
    assert "attempt 1: sent 16 characters, failed (ConnectionReset)" in answer
    assert "attempt 2: sent 18 characters, succeeded" in answer
    assert "step 1: characters 0 to 16 are of attempt 1" in answer
    assert "step 1: characters 16 to 34 are of attempt 2" in answer


async def test_which_tools_ran(case: Case) -> None:
    answer = said(await case.audit(), 2)
    assert answer.splitlines() == ["1-1 guide (none): executed", "2-1 book (compensatable): executed"]


async def test_whether_context_is_as_it_was(case: Case) -> None:
    assert said(await case.audit(), 3).startswith("yes: each attempt had its step's input")

    def other_input(facts: Facts) -> Facts:
        return [
            dataclasses.replace(fact, details={**fact.details, "input_digest": "0"})
            if fact.event == "attempt_started" and fact.attempt == 2
            else fact
            for fact in facts
        ]

    await case.rewrite(other_input)
    assert said(await case.audit(), 3).startswith("step 1: an attempt had another input than the step")


async def test_how_it_is_rolled_back(case: Case) -> None:
    answer = said(await case.audit(), 4)
    assert "code: pin seamstream" in answer
    assert "task: it is succeeded" in answer
    assert "side effect: 2-1 book: is undone by its compensation (the service's cancel)" in answer
    assert "credentials: none is stored" in answer


async def test_a_call_that_nobody_knows_of_fails_its_row() -> None:
    clock = FakeClock()
    store = MemoryBackend(clock=clock)
    model = ScriptedModel(lambda results: says("done") if results else calls(("book", {"hotel": "Ritz"})))
    async with FaultServer(model) as server, Service(loses={1}) as service:
        tool = booking_tool(
            service.url, side_effect="idempotent", query=None, compensate=None, allow_manual=True
        )
        target = ModelTarget(server.url_for("openai-chat"), {"model": "m"})
        async with Agent(target, [tool], store, clock=clock) as agent:
            task = await agent.submit("acme", ASK)
            assert [done.state for done in await Worker(agent, ["acme"]).drain()] == ["waiting_compensation"]
    made = await audit(store, "acme", task.task_id, now_s=clock.wall() + 3600)
    assert said(made, 2) == "1-1 book (idempotent): unknown, in the manual queue"
    row = made.rows[3]
    assert (row.name, row.verdict) == ("unknown outcomes", "fail")
    assert row.notes[0].entries
    alarm = made.alarms[3]
    assert (alarm.event, alarm.raised) == ("tool_unknown", True)
    assert alarm.notes[0].text == "tool call 1-1: for 3600 s"


async def test_a_ledger_that_was_written_anew_does_not_hold_the_evidence(case: Case) -> None:
    before = (await case.audit()).evidence_ref
    assert (await case.audit(expected=before)).rows[1].verdict == "pass"
    await case.rewrite(lambda facts: [dataclasses.replace(facts[0], at_s=1.0), *facts[1:]])
    made = await case.audit(expected=before)
    assert made.rows[1].verdict == "fail"
    assert "was written anew" in made.rows[1].notes[0].text


async def test_a_ledger_whose_end_was_cut_off_is_not_whole(case: Case) -> None:
    await case.rewrite(lambda facts: facts[:-1])
    row = await case.row(2)
    assert row.verdict == "unknown"
    assert "(workflow_succeeded): not yet, or its end was cut off" in row.notes[0].text


async def test_alarms_are_raised(case: Case) -> None:
    def spoilt(facts: Facts) -> Facts:
        end = facts[-1]
        failed = next(fact for fact in facts if fact.event == "attempt_succeeded")
        extra = [dataclasses.replace(facts[4], event="attempt_started", id=str(at)) for at in range(9)]
        tail = dataclasses.replace(end, details={"final_attempt": 4, "step_ids": ["1", "7"]})
        return [*_failing(facts[:-1], failed), *extra, tail]

    await case.rewrite(spoilt)
    raised = {alarm.event: alarm.raised for alarm in (await case.audit()).alarms}
    assert raised == {
        "stream_started": True,
        "stream_failed_after_start": True,
        "recovery_started": None,
        "tool_unknown": False,
        "workflow_succeeded": True,
    }


def _failing(facts: Facts, succeeded: Fact) -> Facts:
    return [
        dataclasses.replace(fact, event="stream_failed_after_start") if fact is succeeded else fact
        for fact in facts
    ]


@pytest.mark.parametrize("moment", ["before", "after"])
async def test_wherever_a_process_dies_the_audit_finds_nothing_wrong(
    moment: Literal["before", "after"],
) -> None:
    """Neither between the death and the takeover, nor in the end."""
    writes = await count_writes()
    asyncio.get_running_loop().set_exception_handler(lambda *_: None)  # tasks of the dead die too
    async with FaultServer(ScriptedModel(script)) as model:
        for at in range(4, writes + 1):
            clock = FakeClock()
            store = MemoryBackend(clock=clock)
            async with Service() as service:
                task_id = await submit(store)
                with contextlib.suppress(Died, asyncio.CancelledError, BaseExceptionGroup):
                    await work_once(DyingBackend(store, at - 3, moment), model, service)
                dead = await audit(store, "acme", task_id, now_s=clock.wall())
                await clock.advance(LEASE_S + 1)
                await work_once(store, model, service)
                ended = await audit(store, "acme", task_id, now_s=clock.wall())
            assert [row.number for row in dead.rows if row.verdict == "fail"] == [], as_text(dead)
            passed = [row.number for row in ended.rows if row.verdict == "pass"]
            assert passed == [2, 3, 4, 5, 7], f"{moment} write {at}\n{as_text(ended)}"
