"""Interactions that Gemini keeps are taken up again over real sockets, under its own SDK."""

from __future__ import annotations

from typing import Any

import pytest
from google import genai
from google.genai import types

import seamstream
from seamstream.testing import Answer, DeterministicModel, Fault, FaultServer, Reasoning, Text, Tool
from seamstream.testing.kept_responses import KeptResponses, Memory
from tests.resuming.test_background import POLICY, LeapingClock
from tests.support.interactions_reading import InteractionsFold

ANSWER = Answer(
    (
        Reasoning(("Tides ", "first. ")),
        Text(("The ", "tide ", "turns ", "at six.")),
        Tool("note", ('{"at": ', '"06:42"', "}"), "k1"),
    )
)
MODEL = DeterministicModel(ANSWER)
EVENTS = len(MODEL.reply("gemini-interactions", {"input": "When?", "stream": True}).events)


async def _read(server: FaultServer, **fields: Any) -> Any:
    """What google-genai makes of the answer, over a client that recovers."""
    options = types.HttpOptions(base_url=server.url, retry_options=types.HttpRetryOptions(attempts=1))
    bare = genai.Client(api_key="k", http_options=options)
    client = seamstream.wrap(bare, POLICY, clock=LeapingClock())
    steps = InteractionsFold()
    asked = {"model": "test-1", "input": "When?", "stream": True, **fields}
    try:
        async for event in await client.aio.interactions.create(**asked):
            steps.add(event)
    finally:
        bare.close()
        await bare.aio.aclose()
    return steps.reading()


@pytest.mark.parametrize("memory", ["streams", "ends"])
@pytest.mark.parametrize("events", range(1, EVENTS))
async def test_a_kept_interaction_is_read_to_its_end(memory: Memory, events: int) -> None:
    kept = KeptResponses(memory, polls=2)
    script = [Fault.none(), Fault.reset(after_events=events)]
    async with FaultServer(MODEL, script, background=kept) as server:
        whole = await _read(server)
        with seamstream.capture() as outcomes:
            got = await _read(server)
        asked = [exchange.query for exchange in server.requests[2:]]
    assert (got.answers, got.usage, got.error) == (whole.answers, whole.usage, None)
    if events < EVENTS - 1:  # else only the mark behind the proof is missing
        assert [outcome.joins for outcome in outcomes] == [("native",)]
        assert asked[0]["stream"] == "true"
        assert len(asked) == (1 if memory == "streams" else 4)


async def test_one_that_is_not_stored_is_continued_by_prompt() -> None:
    async with FaultServer(MODEL, [Fault.reset(after_text=b"tide ")]) as server:
        got = await _read(server, store=False)
        assert [exchange.method for exchange in server.requests] == ["POST", "POST"]
    assert got.answer.text == "The tide turns at six."
