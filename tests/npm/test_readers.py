"""To an SDK from npm a recovered answer is the unbroken one: text, calls, stop reason, kinds of events."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

import seamstream
from seamstream.testing import Answer, DeterministicModel, Fault, FaultServer, Text, Tool, tokens
from tests.httpx.asking import AT_ONCE, IMPATIENT, NO_MORE
from tests.npm.node import Node
from tests.npm.proxy import RecoveringProxy

pytestmark = pytest.mark.npm

READERS = [
    "openai chat",
    "openai responses",
    "anthropic messages",
    "ai openai chat",
    "ai openai responses",
    "ai anthropic",
    "ai google",
]
PROSE = "Reefs grow where warm, clear water meets the light, slowly and for ever; 魚 and 🐠 know it well."
DEPTH = Tool("depth", ('{"where":', '"re', 'ef","metres"', ":12", "}"), id="call_1")
ANSWERS = {
    "text": Answer((Text(tokens(PROSE)),)),
    "text and call": Answer((Text(tokens("Let me measure how deep it is here.")), DEPTH)),
    "call": Answer((DEPTH,)),
}
CUTS: dict[str, tuple[str, Fault]] = {
    "reset": ("text", Fault.reset(after_text=b"warm")),
    "inside an event": ("text", Fault.reset(after_bytes=1_501)),
    "clean early end": ("text", Fault.clean_end(after_text=b"meet")),
    "in-band error": ("text", Fault.in_band_error(529, after_events=11)),
    "stall with pings": ("text", Fault.stall_with_pings(0.02, after_events=11)),
    "before content": ("text", Fault.reset(after_events=1)),
    "503 first": ("text", Fault.http_error(503)),
    "arguments behind text": ("text and call", Fault.reset(after_text=b"metres")),
    "arguments alone": ("call", Fault.reset(after_text=b"metres")),
}


async def _read(node: Node, reader: str, url: str) -> Any:
    told = await asyncio.to_thread(node.ask, reader, url)
    assert "error" not in told, told
    return told["read"]


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("reader", READERS)
async def test_a_cut_answer_reads_as_the_unbroken_one(node: Node, reader: str, cut: str) -> None:
    name, fault = CUTS[cut]
    model = DeterministicModel(ANSWERS[name])
    async with FaultServer(model) as server:
        unbroken = await _read(node, reader, server.url)
    policy = IMPATIENT if "stall" in cut else AT_ONCE
    with seamstream.capture() as outcomes:
        async with FaultServer(model, [fault]) as server, RecoveringProxy(server.url, policy) as proxy:
            assert await _read(node, reader, proxy.url) == unbroken
            assert len(server.requests) == 2
    assert unbroken["text"] == ANSWERS[name].text
    assert [call[1] for call in unbroken["calls"]] == [{"where": "reef", "metres": 12}] * ("call" in name)
    assert (unbroken["ids"], [outcome.kind for outcome in outcomes]) == (1, ["recovered"])


@pytest.mark.parametrize("reader", READERS)
async def test_a_cut_behind_a_whole_call_reads_as_the_turn_that_ends_there(node: Node, reader: str) -> None:
    second = replace(DEPTH, pieces=('{"where":', '"sand","metres"', ":40", "}"), id="call_2")
    async with FaultServer(DeterministicModel(ANSWERS["call"])) as server:
        expected = await _read(node, reader, server.url)
    cut, model = Fault.reset(after_text=b"sand"), DeterministicModel(Answer((DEPTH, second)))
    async with FaultServer(model, [cut]) as server, RecoveringProxy(server.url, AT_ONCE) as proxy:
        assert await _read(node, reader, proxy.url) == expected
        assert len(server.requests) == 1


@pytest.mark.parametrize("reader", READERS)
async def test_an_answer_that_is_lost_for_good_is_an_error_to_the_sdk(node: Node, reader: str) -> None:
    fault = Fault.reset(after_text=b"warm")
    model = DeterministicModel(ANSWERS["text"])
    async with FaultServer(model, [fault]) as server, RecoveringProxy(server.url, NO_MORE) as proxy:
        told = await asyncio.to_thread(node.ask, reader, proxy.url)
    assert "read" not in told
    assert told["error"]
