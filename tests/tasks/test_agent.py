"""An agent from the first request to the answer, in each dialect that agents speak."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from seamstream.recovery.continuation.facts import Dialect
from seamstream.stores.memory_backend import MemoryBackend
from seamstream.tasks import Agent, ModelTarget, ToolContext, ToolFailed, Worker, read_ledger, tool
from seamstream.tasks.ledger import chain_problems
from seamstream.tasks.reading import load_steps
from seamstream.testing import FaultServer
from seamstream.testing.faults import Fault
from tests.tasks.scripted import ScriptedModel, calls, says

ASK = {"messages": [{"role": "user", "content": "What is the weather, and book a room."}]}
ASKS: dict[Dialect, dict[str, Any]] = {
    "openai-chat": ASK,
    "anthropic": {**ASK, "max_tokens": 1000},
    "openai-responses": {"input": "What is the weather, and book a room."},
    "gemini": {"contents": [{"role": "user", "parts": [{"text": ASK["messages"][0]["content"]}]}]},
    "bedrock": {"messages": [{"role": "user", "content": [{"text": ASK["messages"][0]["content"]}]}]},
    "ollama": ASK,
    "cohere": {**ASK, "stream": True},
}

WHOLE_CALLS = ("gemini", "ollama")
"""Dialects whose calls come in one event, so that none is ever cut off."""


@tool(side_effect="none", parallel=True)
async def weather(context: ToolContext, city: str) -> dict[str, Any]:
    """The weather in a city."""
    context.add_source(f"https://weather.example/{city}", retrieved_at_s=1.0)
    return {"city": city, "celsius": 26}


@tool(side_effect="idempotent", allow_manual=True)
async def book(context: ToolContext, hotel: str, nights: int = 1) -> str:
    """Book a room."""
    if hotel == "Full":
        raise ToolFailed("there is no room")
    return f"{hotel} for {nights}, {context.idempotency_key}"


def travel(results: list[str]) -> Any:
    if not results:
        return calls(("weather", {"city": "嘉兴"}), ("weather", {"city": "Köln"}), text="Let me look. ")
    if len(results) == 2:
        return calls(("book", {"hotel": "Ritz", "nights": 2}))
    return says("It is 26 degrees in both, and a room at the Ritz is booked for two nights.")


@pytest.mark.parametrize("dialect", list(ASKS))
@pytest.mark.parametrize("fault", [Fault.none(), Fault.reset(after_events=4)], ids=["healthy", "cut"])
async def test_a_task_from_its_request_to_its_answer(dialect: Dialect, fault: Fault) -> None:
    store = MemoryBackend()
    async with FaultServer(ScriptedModel(travel), [fault] * 1) as server:
        model = ModelTarget(server.url_for(dialect), {"model": "test-model"})
        async with Agent(model, [weather, book], store) as agent:
            task = await agent.submit("acme", ASKS[dialect])
            envelopes = await Worker(agent, ["acme"]).drain()
            answer = await agent.answer("acme", task.task_id)
    assert [envelope.state for envelope in envelopes] == ["succeeded"]
    assert answer == "It is 26 degrees in both, and a room at the Ritz is booked for two nights."
    steps = await load_steps(store, "acme", task.task_id)
    assert [[call.status for call in step.tool_calls] for step in steps] == [
        ["succeeded", "succeeded"],
        ["succeeded"],
        [],
    ]
    assert [source.order for source in steps[0].sources] == [0, 1]
    entries = await read_ledger(store, "acme", task.task_id)
    assert chain_problems(entries) == []
    events = [entry.event for entry in entries if entry.step_id == "2"]
    assert events == [
        *("step_started", "attempt_started", "stream_started", "attempt_succeeded", "attempt_usage"),
        *("tool_planned", "tool_started", "tool_succeeded", "step_succeeded"),
    ]
    attempts = {entry.attempt for entry in entries if entry.event == "attempt_started"}
    assert attempts == {entry.attempt for entry in entries if entry.event == "attempt_usage"}
    assert entries[-1].details["final_attempt"] == max(attempts) == (3 if fault == Fault.none() else 4)


@pytest.mark.parametrize("dialect", [each for each in ASKS if each not in WHOLE_CALLS])
async def test_the_model_is_told_of_calls_that_were_cut_off(dialect: Dialect) -> None:
    """One call was whole at the cut: it runs, and the other one is a hint in the next user message."""
    both = calls(("book", {"hotel": "Ritz"}), ("weather", {"city": "a city with a very long name"}))
    script = lambda results: says("Booked.") if results else both  # noqa: E731
    fault = Fault.reset(after_text=b"long")
    store = MemoryBackend()
    async with FaultServer(ScriptedModel(script), [fault]) as server:
        model = ModelTarget(server.url_for(dialect), {"model": "test-model"})
        async with Agent(model, [weather, book], store) as agent:
            task = await agent.submit("acme", ASKS[dialect])
            [envelope] = await Worker(agent, ["acme"]).drain()
        asked = server.requests[-1].raw_body.decode()
    assert envelope.state == "succeeded"
    [first, _] = await load_steps(store, "acme", task.task_id)
    assert [call.tool_name for call in first.tool_calls] == ["book"]
    assert first.turn is not None
    assert len(first.turn.hints) == 1
    assert "weather" in first.turn.hints[0]
    assert orjson.dumps(first.turn.hints[0]).decode() in asked
    assert len(server.requests) == 2
