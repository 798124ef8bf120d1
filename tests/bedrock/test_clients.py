"""boto3 and aiobotocore clients, wrapped: what they read of a broken stream, and how it was signed."""

from __future__ import annotations

import asyncio
from typing import Any, get_args

import aiohttp
import boto3
import pytest
from botocore.exceptions import ClientError, EndpointConnectionError, EventStreamError
from urllib3.exceptions import ProtocolError

import seamstream
from seamstream.errors import ConfigurationError, StreamCutError
from seamstream.recovery.policy import RecoveryPolicy
from seamstream.stores.memory import InMemoryStreamCheckpointStore
from seamstream.testing import Answer, DeterministicModel, Ending, Fault, FaultServer, Text, tokens
from seamstream.testing.answer import Tool
from tests.bedrock.clients import AT_ONCE, KEY, QUESTION, REGION, SECRET, Kind, is_signed, read

SAID = "Reefs grow where warm, clear water meets the light, slowly and for ever, and fish come to live there."
MODEL = DeterministicModel(Answer((Text(tokens(SAID)),)))
EVENTS = len(tokens(SAID)) + 4
KINDS = get_args(Kind)
FAULTS = {
    "reset": lambda at: Fault.reset(after_events=at),
    "clean end": lambda at: Fault.clean_end(after_events=at),
    "inside a frame": lambda at: Fault.reset(after_bytes=170 * at + 7),
    "bad chunk size": lambda at: Fault.bad_chunk_size(after_events=at),
    "exception": lambda at: Fault.in_band_error(503, after_events=at),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fault", FAULTS)
async def test_a_cut_answer_is_the_whole_one(kind: Kind, fault: str) -> None:
    async with FaultServer(MODEL) as server:
        whole = await read(kind, server.url, wrapped=False)
    assert whole.error is None
    assert whole.text == SAID
    for at in range(0, EVENTS - 3, 4):
        async with FaultServer(MODEL, [FAULTS[fault](at)]) as server:
            got = await read(kind, server.url)
            assert got.error is None, at
            assert got.same == whole.same, at
            assert len(server.requests) == 2, at
            assert all(is_signed(exchange, server.url) for exchange in server.requests)
            assert [name for name in got.events if name == "messageStart"] == ["messageStart"]
            assert "x-seamstream-run-id" in got.headers
            first, second = (exchange.headers["amz-sdk-request"] for exchange in server.requests)
            assert first == "attempt=1" < second


@pytest.mark.parametrize("kind", KINDS)
async def test_nothing_is_changed_while_nothing_breaks(kind: Kind) -> None:
    async with FaultServer(MODEL) as server:
        bare = await read(kind, server.url, wrapped=False)
        got = await read(kind, server.url)
        assert (got.same, got.events) == (bare.same, bare.events)
        assert server.requests[0].raw_body == server.requests[1].raw_body
        assert len(server.requests) == 2


@pytest.mark.parametrize("kind", KINDS)
async def test_a_silent_stream_is_asked_for_again(kind: Kind) -> None:
    """boto3 notices by its own read timeout, aiobotocore by the policy."""
    policy = AT_ONCE.replace(idle_s=0.3)
    async with FaultServer(MODEL, [Fault.stall(after_events=9)]) as server:
        got = await read(kind, server.url, policy=policy, read_timeout=0.3)
        assert got.error is None
        assert got.text == SAID
        assert len(server.requests) == 2


@pytest.mark.parametrize("kind", KINDS)
async def test_a_flipped_bit_is_a_malformed_frame(kind: Kind) -> None:
    """Behind the middle of the stream no length can point behind its end."""
    [events] = [MODEL.reply("bedrock", {**QUESTION, "stream": True}).events]
    data = b"".join(events)
    headers = {"content-type": "application/vnd.amazon.eventstream"}
    for at in range(20, len(data) - 400, len(data) // 9):
        flipped = bytearray(data)
        flipped[at] ^= 1 << at % 8
        async with FaultServer(
            MODEL, [Fault(Ending.COMPLETE, body=bytes(flipped), headers=headers)]
        ) as server:
            with seamstream.capture() as outcomes:
                got = await read(kind, server.url)
        assert (got.error, got.text) == (None, SAID), at
        assert [outcome.causes for outcome in outcomes] == [("MalformedFrame",)], at


@pytest.mark.parametrize("kind", KINDS)
async def test_a_complete_call_is_not_asked_for_twice(kind: Kind) -> None:
    called = (Tool("look", ('{"a"', ": 1}")), Tool("see", ("{", "}")))
    model = DeterministicModel(Answer((Text(("Look. ",)), *called)))
    async with FaultServer(model, [Fault.reset(after_text=b'"name":"see"')]) as server:
        got = await read(kind, server.url)
        assert got.error is None
        assert got.calls == [("look", '{"a": 1}')]
        assert got.stop == "tool_use"
        assert len(server.requests) == 1


@pytest.mark.parametrize("kind", KINDS)
async def test_throttling_before_the_stream_is_waited_for(kind: Kind) -> None:
    async with FaultServer(MODEL, [Fault.http_error(429), Fault.http_error(503)]) as server:
        got = await read(kind, server.url)
        assert got.error is None
        assert got.text == SAID
        assert len(server.requests) == 3
        assert got.metadata["RetryAttempts"] == 2


@pytest.mark.parametrize("kind", KINDS)
async def test_a_final_refusal_is_botocores_own(kind: Kind) -> None:
    async with FaultServer(MODEL, [Fault.http_error(400)]) as server:
        got = await read(kind, server.url)
        assert isinstance(got.error, ClientError)
        assert got.error.response["ResponseMetadata"]["HTTPStatusCode"] == 400
        assert got.error.response["Error"]["Message"]
        assert len(server.requests) == 1


@pytest.mark.parametrize("kind", KINDS)
async def test_nobody_there_is_botocores_own(kind: Kind) -> None:
    with seamstream.capture() as outcomes:
        got = await read(kind, "http://127.0.0.1:9", policy=AT_ONCE.replace(max_recoveries=1))
    assert isinstance(got.error, EndpointConnectionError)
    assert [(outcome.kind, outcome.attempts) for outcome in outcomes] == [("failed", 2)]


@pytest.mark.parametrize("kind", KINDS)
async def test_what_cannot_be_saved_is_told_with_what_came(kind: Kind) -> None:
    faults = [Fault.reset(after_events=5 + at) for at in range(4)]
    async with FaultServer(MODEL, faults) as server:
        got = await read(kind, server.url, policy=AT_ONCE.replace(max_recoveries=1))
        assert isinstance(got.error, StreamCutError)
        assert isinstance(got.error, ProtocolError if kind == "boto3" else aiohttp.ClientPayloadError)
        assert got.error.turn is not None
        assert SAID.startswith(got.error.turn.text)
        assert got.text == got.error.turn.text
        assert len(server.requests) == 2


@pytest.mark.parametrize("kind", KINDS)
async def test_a_providers_exception_at_the_end_is_botocores_own(kind: Kind) -> None:
    faults = [Fault.in_band_error(503, after_events=5)] * 4
    async with FaultServer(MODEL, faults) as server:
        got = await read(kind, server.url, policy=AT_ONCE.replace(max_recoveries=0))
    assert isinstance(got.error, EventStreamError)
    assert len(server.requests) == 1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mode", ["off", "observe"])
async def test_other_modes_leave_the_stream_alone(kind: Kind, mode: Any) -> None:
    async with FaultServer(MODEL, [Fault.reset(after_events=9)]) as server:
        with seamstream.capture() as outcomes:
            got = await read(kind, server.url, policy=RecoveryPolicy(mode=mode))
        assert got.error is not None
        assert not isinstance(got.error, StreamCutError)
        assert len(server.requests) == 1
    assert [outcome.kind for outcome in outcomes] == (["truncated"] if mode == "observe" else [])


async def test_two_streams_at_once() -> None:
    async with FaultServer(MODEL, [Fault.reset(after_events=6), Fault.reset(after_events=9)]) as server:
        both = await asyncio.gather(*(read(kind, server.url) for kind in KINDS))
    assert [got.text for got in both] == [SAID, SAID]


def test_a_client_is_wrapped_once_and_stays_as_it_was() -> None:
    settings = {"region_name": REGION, "aws_access_key_id": KEY, "aws_secret_access_key": SECRET}
    client = boto3.client("bedrock-runtime", **settings)
    wrapped = seamstream.wrap(client)
    assert type(wrapped) is type(client)
    with pytest.raises(ConfigurationError, match="wrapped already"):
        seamstream.wrap(wrapped)
    with pytest.raises(ConfigurationError, match="needs an async client"):
        seamstream.wrap(client, store=InMemoryStreamCheckpointStore())
    assert seamstream.wrap(client) is not wrapped
