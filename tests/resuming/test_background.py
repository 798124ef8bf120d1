"""The server keeps background responses; recovery and the SDK take them up again over real sockets."""

from __future__ import annotations

import asyncio
from typing import Any

import aiohttp
import openai
import pytest

import seamstream
from seamstream.clock import SystemClock
from seamstream.testing import Answer, DeterministicModel, Fault, FaultServer, Text, Tool, read_turn
from seamstream.testing.kept_responses import KeptResponses

ANSWER = Answer((Text(("The ", "tide ", "turns ", "at six.")), Tool("note", ('{"at": ', '"06:42"', "}"))))
BODY = {"model": "test-1", "input": "When?", "stream": True, "background": True, "store": True}
POLICY = seamstream.RecoveryPolicy(backoff=seamstream.BackoffPolicy(first_s=0.0, max_s=0.0))


class LeapingClock(SystemClock):
    """Time that is waited for has passed at once."""

    def __init__(self) -> None:
        self._leapt_s = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self._leapt_s

    async def sleep(self, seconds: float) -> None:
        self._leapt_s += seconds
        await asyncio.sleep(0)


async def _fetch(session: aiohttp.ClientSession, url: str, body: dict[str, Any]) -> bytes:
    async with session.post(url, json=body) as response:
        assert response.status == 200
        return await response.read()


@pytest.mark.parametrize("events", range(2, 16))
async def test_a_middleware_reader_gets_the_unbroken_bytes(events: int) -> None:
    script = [Fault.none(), Fault.reset(after_events=events)]
    async with FaultServer(DeterministicModel(ANSWER), script) as server:
        url = server.url_for("openai-responses")
        async with aiohttp.ClientSession(middlewares=[seamstream.RecoveryMiddleware(POLICY)]) as session:
            whole = await _fetch(session, url, BODY)
            with seamstream.capture() as outcomes:
                assert await _fetch(session, url, BODY) == whole
        asked = server.requests[-1]
        assert (asked.method, asked.query["starting_after"], asked.raw_body) == ("GET", str(events - 1), b"")
        assert [outcome.joins for outcome in outcomes] == [("native",)]


async def test_a_typed_reader_gets_the_call_whole() -> None:
    async with (
        FaultServer(DeterministicModel(ANSWER), [Fault.reset(after_events=11)]) as server,
        aiohttp.ClientSession() as session,
        seamstream.stream(session, server.url_for("openai-responses"), json=BODY, policy=POLICY) as run,
    ):
        events = [event async for event in run]
    assert [event.join for event in events if isinstance(event, seamstream.Seam)] == ["native"]
    assert [call.arguments for call in run.turn.tool_calls] == ['{"at": "06:42"}']
    assert not [event for event in events if isinstance(event, seamstream.ToolCallCancel)]


async def test_what_nobody_saw_is_asked_for_again_when_the_server_has_nothing() -> None:
    script = [Fault.reset(after_events=2)]
    async with FaultServer(DeterministicModel(ANSWER), script, background="nothing") as server:
        async with aiohttp.ClientSession(middlewares=[seamstream.RecoveryMiddleware(POLICY)]) as session:
            data = await _fetch(session, server.url_for("openai-responses"), BODY)
        assert data.count(b"event: response.completed") == 1
        assert [exchange.method for exchange in server.requests] == ["POST", "GET", "POST"]


@pytest.mark.parametrize("events", range(1, 16))
async def test_what_can_no_longer_be_streamed_is_polled_until_it_is_over(events: int) -> None:
    """As behind OpenAI's five minutes."""
    kept = KeptResponses("ends", polls=3)
    script = [Fault.none(), Fault.reset(after_events=events)]
    async with FaultServer(DeterministicModel(ANSWER), script, background=kept) as server:
        url = server.url_for("openai-responses")
        ours = seamstream.RecoveryMiddleware(POLICY, clock=LeapingClock())
        async with aiohttp.ClientSession(middlewares=[ours]) as session:
            whole = await _fetch(session, url, BODY)
            with seamstream.capture() as outcomes:
                data = await _fetch(session, url, BODY)
        asked = [(exchange.method, "stream" in exchange.query) for exchange in server.requests[2:]]
        assert asked == [("GET", True), *[("GET", False)] * 4]
    assert read_turn("openai-responses", data) == read_turn("openai-responses", whole)
    assert [outcome.joins for outcome in outcomes] == [("native",)]


@pytest.mark.parametrize("status", [503, 429])
async def test_a_server_that_is_busy_while_it_is_polled_is_asked_again(status: int) -> None:
    script = [Fault.reset(after_events=5), Fault.none(), Fault.none(), Fault.http_error(status)]
    kept = KeptResponses("ends", polls=2)
    async with FaultServer(DeterministicModel(ANSWER), script, background=kept) as server:
        ours = seamstream.RecoveryMiddleware(POLICY, clock=LeapingClock())
        async with aiohttp.ClientSession(middlewares=[ours]) as session:
            with seamstream.capture() as outcomes:
                data = await _fetch(session, server.url_for("openai-responses"), BODY)
    assert read_turn("openai-responses", data).text == "The tide turns at six."
    assert [outcome.attempts for outcome in outcomes] == [4]


async def test_the_sdk_reads_what_the_server_keeps() -> None:
    async with (
        FaultServer(DeterministicModel(ANSWER)) as server,
        openai.AsyncOpenAI(base_url=f"{server.url}/v1", api_key="k", max_retries=0) as client,
    ):
        first = [event async for event in await client.responses.create(**BODY)]  # type: ignore[call-overload]
        name = first[0].response.id
        rest = await client.responses.retrieve(name, stream=True, starting_after=4)
        assert [event.sequence_number async for event in rest] == list(range(5, len(first)))
        assert (await client.responses.retrieve(name)).status == "completed"
        plain = {**BODY, "background": False}
        other = [event async for event in await client.responses.create(**plain)]  # type: ignore[call-overload]
        with pytest.raises(openai.BadRequestError, match="not created with background=true"):
            await client.responses.retrieve(other[0].response.id, stream=True)
        with pytest.raises(openai.NotFoundError):
            await client.responses.retrieve("resp_unknown")
