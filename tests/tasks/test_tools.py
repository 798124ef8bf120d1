"""What becomes of tool calls: outcomes nobody knows, queries, compensation, people, approval, jobs."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pytest

from seamstream.clock import SystemClock
from seamstream.errors import ConfigurationError
from seamstream.stores.memory_backend import MemoryBackend
from seamstream.tasks import (
    Agent,
    Entry,
    Envelope,
    ModelTarget,
    NotExecuted,
    Pending,
    Tool,
    ToolContext,
    ToolFailed,
    ToolInvocation,
    Worker,
    read_ledger,
    tool,
)
from seamstream.tasks.journal import TaskJournal
from seamstream.tasks.reading import load_steps
from seamstream.testing import FaultServer
from tests.tasks.scripted import ScriptedModel, calls, says
from tests.tasks.service import Service, booking_tool

ASK = {"messages": [{"role": "user", "content": "Go."}]}
TOLD: list[list[str]] = []


@dataclass
class Played:
    """A task that was worked on until nothing was due."""

    envelope: Envelope
    entries: list[Entry]
    call: ToolInvocation
    told: list[str]
    """What the model was told last."""
    store: MemoryBackend
    task_id: str

    @property
    def events(self) -> list[str]:
        return [entry.event for entry in self.entries if entry.invocation_id]


async def play(tools: Iterable[Tool], call: tuple[str, dict[str, Any]], **options: Any) -> Played:
    """One task whose model calls one tool and then says "Done."."""
    told: list[str] = []

    def script(results: list[str]) -> Any:
        told[:] = results
        return says("Done.") if results else calls(call)

    store = MemoryBackend()
    async with FaultServer(ScriptedModel(script)) as server:
        model = ModelTarget(server.url_for("openai-chat"), {"model": "test-model"})
        async with Agent(model, tools, store, **options) as agent:
            task = await agent.submit("acme", ASK)
            [envelope] = await Worker(agent, ["acme"]).drain()
    entries = await read_ledger(store, "acme", task.task_id)
    step = (await load_steps(store, "acme", task.task_id))[0]
    return Played(envelope, entries, step.tool_calls[0], told, store, task.task_id)


@pytest.fixture
async def service() -> Any:
    async with Service() as service:
        yield service


RITZ = ("book", {"hotel": "Ritz"})


async def test_an_answer_that_was_lost_is_asked_for(service: Service) -> None:
    service.loses = {1}
    played = await play([booking_tool(service.url)], RITZ)
    assert played.events == [
        *("tool_planned", "tool_started", "tool_unknown", "tool_queried", "tool_succeeded"),
    ]
    assert played.call.resolution == "query"
    assert played.told == ['{"booked":"Ritz"}']
    assert [action for action, _ in service.calls] == ["book", "find"]
    [unknown] = [entry for entry in played.entries if entry.event == "tool_unknown"]
    [(_, key), _] = service.calls
    assert key.startswith(f"{played.task_id}:1-1:")
    assert unknown.details["idempotency_key"] == key
    assert unknown.details["because"] == "ServerDisconnectedError"


async def test_without_a_query_it_is_undone(service: Service) -> None:
    service.loses = {1}
    played = await play([booking_tool(service.url, query=None)], RITZ)
    assert played.events[2:] == ["tool_unknown", "tool_compensated", "tool_failed"]
    assert service.booked == {}
    assert "undone" in played.told[0]
    assert [action for action, _ in service.calls] == ["book", "cancel"]


async def test_a_query_that_says_no_is_not_enough_to_send_it_again(service: Service) -> None:
    async def not_there(context: ToolContext, hotel: str) -> NotExecuted:
        return NotExecuted()

    service.loses = {1}
    lost = booking_tool(service.url, query=not_there, compensate=None, side_effect="idempotent")
    played = await play([lost], RITZ)
    assert played.events[2:] == ["tool_unknown", "tool_queried", "tool_manual"]
    assert played.call.manual
    assert played.call.status == "unknown"
    assert played.envelope.state == "waiting_compensation"
    assert [action for action, _ in service.calls] == ["book"]


async def test_a_service_that_will_refuse_it_from_now_on_settles_it(service: Service) -> None:
    async def never(context: ToolContext, hotel: str) -> NotExecuted:
        return NotExecuted(final=True)

    service.loses = {1}
    played = await play(
        [booking_tool(service.url, query=never, compensate=None, side_effect="idempotent")], RITZ
    )
    assert played.events[2:] == ["tool_unknown", "tool_queried", "tool_failed"]
    assert played.envelope.state == "succeeded"


async def test_a_compensation_that_fails_goes_to_people(service: Service) -> None:
    async def broken(context: ToolContext, hotel: str) -> None:
        raise OSError("down")

    service.loses = {1}
    played = await play([booking_tool(service.url, query=broken, compensate=broken)], RITZ)
    assert played.events[2:] == ["tool_unknown", "tool_queried", "tool_compensated", "tool_manual"]
    answers = [entry.details.get("answer") or entry.details.get("outcome") for entry in played.entries[-4:]]
    assert "failed: OSError" in answers


async def test_a_write_that_takes_too_long_is_unknown(service: Service) -> None:
    waiting = asyncio.Event()

    @tool(side_effect="idempotent", allow_manual=True, timeout=0.05)
    async def book(context: ToolContext, hotel: str) -> None:
        await waiting.wait()

    played = await play([book], RITZ)
    assert played.events[2:] == ["tool_unknown", "tool_manual"]


async def test_a_failure_that_the_tool_is_sure_of_is_none(service: Service) -> None:
    @tool(side_effect="idempotent", allow_manual=True)
    async def book(context: ToolContext, hotel: str) -> None:
        raise ToolFailed("there is no room")

    played = await play([book], RITZ)
    assert played.events[2:] == ["tool_failed"]
    assert played.told == ["there is no room"]


async def test_what_only_reads_may_fail_and_is_told(service: Service) -> None:
    @tool(side_effect="none")
    async def book(context: ToolContext, hotel: str) -> None:
        raise KeyError("Ritz")

    played = await play([book], RITZ)
    assert played.events[2:] == ["tool_failed"]
    assert played.told == ["KeyError: 'Ritz'"]


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (("book", {"hotel": 3}), "$.hotel: 3 is not of type 'string'"),
        (("book", {}), "'hotel' is a required property"),
        (("book", {"hotel": "Ritz", "x": 1}), "Additional properties are not allowed"),
        (("cook", {}), "there is no tool cook"),
    ],
)
async def test_a_call_that_does_not_fit_never_starts(
    service: Service, call: tuple[str, dict[str, Any]], why: str
) -> None:
    played = await play([booking_tool(service.url)], call)
    assert played.events == ["tool_planned", "tool_failed"]
    assert why in played.told[0]
    assert service.calls == []


async def test_a_call_starts_only_when_it_is_approved(service: Service) -> None:
    asked: list[tuple[str, dict[str, Any]]] = []

    async def deny(context: ToolContext, name: str, arguments: dict[str, Any]) -> Any:
        asked.append((name, arguments))
        return "deny"

    played = await play([booking_tool(service.url)], RITZ, approve=deny)
    assert asked == [RITZ]
    assert played.events == ["tool_planned", "tool_approval", "tool_failed"]
    assert service.calls == []


async def test_a_call_waits_for_people_and_goes_on(service: Service) -> None:
    async def ask_later(context: ToolContext, name: str, arguments: dict[str, Any]) -> Any:
        return "wait"

    played = await play([booking_tool(service.url)], RITZ, approve=ask_later)
    assert played.envelope.state == "waiting"
    journal = await TaskJournal.take(
        played.store, "acme", played.task_id, owner="operator", clock=SystemClock()
    )
    await journal.change_invocation(
        "1-1", journal.fact("tool_approval", invocation=played.call, answer="approve"), approved=True
    )
    async with FaultServer(ScriptedModel(lambda results: says("Done."))) as server:
        model = ModelTarget(server.url_for("openai-chat"), {"model": "test-model"})
        async with Agent(model, [booking_tool(service.url)], played.store, approve=ask_later) as agent:
            await agent.enqueue("acme", played.task_id)
            [envelope] = await Worker(agent, ["acme"]).drain()
    assert envelope.state == "succeeded"
    assert [action for action, _ in service.calls] == ["book"]


async def test_a_long_job_is_submitted_once_and_then_asked_for() -> None:
    polls: list[str] = []

    async def poll(context: ToolContext, job_id: str) -> Any:
        polls.append(job_id)
        return {"video": "v.mp4"} if len(polls) == 3 else Pending(after_s=0.0)

    @tool(side_effect="idempotent", job=poll, allow_manual=True)
    async def render(context: ToolContext, scene: str) -> str:
        return f"job-{scene}"

    played = await play([render], ("render", {"scene": "7"}))
    assert polls == ["job-7"] * 3
    assert played.events[2:] == ["tool_submitted", "tool_succeeded"]
    assert played.told == ['{"video":"v.mp4"}']
    assert played.call.job_id == "job-7"


async def test_calls_that_are_declared_safe_run_side_by_side() -> None:
    together = asyncio.Barrier(2)

    @tool(side_effect="none", parallel=True, timeout=5.0)
    async def look(context: ToolContext, at: str) -> str:
        await together.wait()
        return at

    store = MemoryBackend()

    def script(results: list[str]) -> Any:
        return says(" and ".join(results)) if results else calls(("look", {"at": "a"}), ("look", {"at": "b"}))

    async with FaultServer(ScriptedModel(script)) as server:
        model = ModelTarget(server.url_for("anthropic"), {"model": "test-model", "max_tokens": 99})
        async with Agent(model, [look], store) as agent:
            task = await agent.submit("acme", ASK)
            await Worker(agent, ["acme"]).drain()
            assert await agent.answer("acme", task.task_id) == '"a" and "b"'


async def never(context: ToolContext) -> None: ...


def test_a_tool_that_could_not_be_recovered_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="neither query nor compensate"):
        tool(side_effect="idempotent")(never)
    with pytest.raises(ConfigurationError, match="compensatable, but has no compensate"):
        tool(side_effect="compensatable", query=never)(never)
    with pytest.raises(ConfigurationError, match="no side effect is called 'some'"):
        tool(side_effect="some")(never)  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="no coroutine function"):
        tool(side_effect="none")(lambda context: None)
    model = ModelTarget("http://h/v1/chat/completions")
    with pytest.raises(ConfigurationError, match="two tools are called 'never'"):
        Agent(model, [tool(side_effect="none")(never)] * 2, MemoryBackend())
    with pytest.raises(ConfigurationError, match="secret arguments"):
        Agent(model, [tool(side_effect="none", secret=True)(never)], MemoryBackend())
