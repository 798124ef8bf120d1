"""A write that was cut off with its worker, and goes on in one whose tools are others by now."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from seamstream.stores.memory_backend import MemoryBackend
from seamstream.tasks import Agent, Executed, Tool, ToolContext, ToolInvocation, Worker, tool
from seamstream.testing import FakeClock
from tests.tasks.dying import DyingBackend
from tests.tasks.playing import ASK, TENANT, QuickClock, stage
from tests.tasks.scripted import calls, says

RUNS: list[str] = []


async def find(context: ToolContext) -> Executed:
    return Executed("booked")


async def again(context: ToolContext) -> str:
    RUNS.append("again")
    return "booked twice"


async def to_a_hotel(context: ToolContext, hotel: str) -> str:
    return await again(context)


NO_TOOL = "there is no tool book here that could be asked"
NO_FIT = "the call does not fit the tool book that is here"
OTHERS = [
    ("gone", [], NO_TOOL),
    ("another schema", [tool(name="book", side_effect="idempotent", query=find)(to_a_hotel)], NO_FIT),
    ("only reads", [tool(name="book", side_effect="none")(again)], "nobody can say whether it happened"),
]


async def cut_off(tools: list[Tool], *, cancel: bool = False) -> tuple[str, ToolInvocation, list[str]]:
    """The task's state, its call and the call's events after a worker with `tools` has gone on."""
    RUNS.clear()
    started = asyncio.Event()

    @tool(side_effect="idempotent", query=find)
    async def book(context: ToolContext) -> None:
        RUNS.append("first")
        started.set()
        await asyncio.Event().wait()

    def script(results: list[str]) -> Any:
        return says("Done.") if results else calls(("book", {}))

    clock = FakeClock()
    async with stage(script, tools, store=MemoryBackend(clock=clock)) as played:
        lost = DyingBackend(played.store, 0, "before")
        async with Agent(played.agent.model, [book], lost, clock=QuickClock()) as agent:
            task = await agent.submit(TENANT, ASK)
            dying = asyncio.ensure_future(Worker(agent, [TENANT]).drain())
            await started.wait()
            lost.dead = True
            dying.cancel()
            await asyncio.gather(dying, return_exceptions=True)
        await clock.advance(31.0)
        if cancel:
            await played.agent.cancel(TENANT, task.task_id)
        [envelope] = await played.worker().drain()
        [step, *_] = await played.steps(task.task_id)
        entries = await played.entries(task.task_id)
    return envelope.state, step.tool_calls[0], [entry.event for entry in entries if entry.invocation_id]


@pytest.mark.parametrize(
    ("tools", "why"), [other[1:] for other in OTHERS], ids=[other[0] for other in OTHERS]
)
async def test_nobody_claims_to_know_what_became_of_it(tools: list[Tool], why: str) -> None:
    state, call, events = await cut_off(tools)
    assert RUNS == ["first"]
    assert (call.status, call.manual, call.error) == ("unknown", True, why)
    assert state == "waiting_compensation"
    assert events == ["tool_planned", "tool_started", "tool_unknown", "tool_manual"]


async def test_a_cancelled_task_leaves_it_to_people() -> None:
    state, call, _ = await cut_off([], cancel=True)
    assert (state, call.status, call.manual) == ("aborted", "unknown", True)


async def test_a_call_is_on_record_as_what_its_tool_is_when_it_starts() -> None:
    """Who planned it did not know the tool."""

    @tool(side_effect="idempotent", query=find)
    async def book(context: ToolContext) -> str:
        return "booked"

    approval = lambda context, name, arguments: "wait"  # noqa: E731

    def script(results: list[str]) -> Any:
        return says("Done.") if results else calls(("book", {}))

    reads = tool(name="book", side_effect="none")(again)
    async with stage(script, [reads], approve=approval) as played:
        task = await played.agent.submit(TENANT, ASK)
        await played.worker().drain()
        async with Agent(played.agent.model, [book], played.store, clock=QuickClock()) as agent:
            await agent.enqueue(TENANT, task.task_id)
            [envelope] = await Worker(agent, [TENANT]).drain()
        [step, _] = await played.steps(task.task_id)
        [started] = [each for each in await played.entries(task.task_id) if each.event == "tool_started"]
    assert envelope.state == "succeeded"
    assert (step.tool_calls[0].side_effect, started.details["side_effect"]) == ("idempotent", "idempotent")
