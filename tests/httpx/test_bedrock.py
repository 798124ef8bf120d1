"""Bedrock with a bearer key is plain HTTP: the httpx transports make ConverseStream whole like any stream.

Answers are read by botocore's own event stream and parser, which check every checksum.
"""

from __future__ import annotations

from typing import Any

import pytest

from seamstream import StreamCutError
from seamstream.testing import DeterministicModel, Ending, Fault, FaultServer
from tests.httpx.asking import AT_ONCE, CALLING, IMPATIENT, NO_MORE, SPOKEN, Got, Reader, policy_for
from tests.support.bedrock_reading import read_bedrock
from tests.support.grammar import assert_well_formed
from tests.support.reading import Answer

BEARER = "Bearer bedrock-api-key"
QUESTION: dict[str, Any] = {
    "messages": [{"role": "user", "content": [{"text": "Tell me about reefs."}]}],
    "inferenceConfig": {"maxTokens": 200},
}
CUTS = {
    "reset": (Fault.reset(after_events=9), "ConnectionReset"),
    "reset in a frame": (Fault.reset(after_bytes=1_801), "ConnectionReset"),
    "fin in a chunk": (Fault.fin(after_events=6, torn_chunk=True), "ConnectionReset"),
    "short length": (Fault.short_length(after_events=5), "ConnectionReset"),
    "clean end": (Fault.clean_end(after_events=9), "EarlyEof"),
    "bad chunk size": (Fault.bad_chunk_size(after_events=9), "MalformedFrame"),
    "stall": (Fault.stall(after_events=9), "IdleStall"),
    "exception": (Fault.in_band_error(503, after_events=9), "Provider5xxMidStream(503)"),
}
BEFORE = {
    "throttled": Fault.http_error(429),
    "unavailable": Fault.http_error(503),
    "no response": Fault.no_response(Ending.RESET),
}


def _unbroken(model: DeterministicModel) -> bytes:
    return b"".join(model.reply("bedrock", QUESTION).events)


def _answer(model: DeterministicModel) -> Answer:
    return read_bedrock(_unbroken(model)).answer


async def _fetch(reader: Reader, server: FaultServer, policy: Any) -> Got:
    url = server.url_for("bedrock")
    return await reader.fetch(url, policy, json=QUESTION, headers={"Authorization": BEARER})


def _assert_whole(got: Got, model: DeterministicModel) -> None:
    reading = read_bedrock(got.body)
    assert (got.error, reading.error) == (None, None)
    assert reading.answer == _answer(model)
    assert_well_formed("bedrock", got.body, whole=True)


@pytest.mark.parametrize("name", CUTS)
async def test_a_cut_answer_arrives_whole(reader: Reader, name: str) -> None:
    fault, cause = CUTS[name]
    async with FaultServer(SPOKEN, [fault]) as server:
        got = await _fetch(reader, server, policy_for(fault))
    _assert_whole(got, SPOKEN)
    assert (got.outcome.kind, got.outcome.causes) == ("recovered", (cause,))
    assert [exchange.headers["authorization"] for exchange in server.requests] == [BEARER] * 2
    assert server.requests[1].body["messages"][0] == QUESTION["messages"][0]


async def test_a_cut_behind_every_event(reader: Reader) -> None:
    events = len(SPOKEN.reply("bedrock", QUESTION).events)
    for count in range(events):
        async with FaultServer(SPOKEN, [Fault.reset(after_events=count)]) as server:
            got = await _fetch(reader, server, AT_ONCE)
        _assert_whole(got, SPOKEN)
        # The last two frames are messageStop, which proves the answer, and its usage.
        assert len(server.requests) == (1 if count == events - 1 else 2), count


async def test_a_flipped_bit_is_found_by_its_checksum(reader: Reader) -> None:
    data = bytearray(_unbroken(SPOKEN))
    data[len(data) // 2] ^= 4
    headers = {"content-type": "application/vnd.amazon.eventstream"}
    fault = Fault(Ending.COMPLETE, body=bytes(data), headers=headers)
    async with FaultServer(SPOKEN, [fault]) as server:
        got = await _fetch(reader, server, AT_ONCE)
    _assert_whole(got, SPOKEN)
    assert got.outcome.causes == ("MalformedFrame",)


async def test_a_call_that_is_whole_at_the_cut_needs_no_request(reader: Reader) -> None:
    events = len(CALLING.reply("bedrock", QUESTION).events)
    async with FaultServer(CALLING, [Fault.reset(after_events=events - 2)]) as server:
        got = await _fetch(reader, server, AT_ONCE)
    _assert_whole(got, CALLING)
    assert (got.outcome.kind, got.outcome.plan, len(server.requests)) == ("salvaged", "R2", 1)


@pytest.mark.parametrize("name", BEFORE)
async def test_a_failure_before_the_stream_is_retried(reader: Reader, name: str) -> None:
    async with FaultServer(SPOKEN, [BEFORE[name]]) as server:
        got = await _fetch(reader, server, AT_ONCE)
    assert got.body == _unbroken(SPOKEN)
    assert (got.outcome.kind, len(server.requests)) == ("recovered", 2)


async def test_the_last_refusal_is_the_providers_own(reader: Reader) -> None:
    async with FaultServer(SPOKEN, [Fault.http_error(429)] * 4) as server:
        got = await _fetch(reader, server, AT_ONCE)
        assert got.body == bytes(server.requests[-1].sent)
    assert (got.status, got.headers["x-should-retry"]) == (429, "false")
    assert len(server.requests) == 1 + AT_ONCE.max_recoveries


async def test_what_cannot_be_saved_is_told_with_what_came(reader: Reader) -> None:
    async with FaultServer(SPOKEN, [Fault.reset(after_text=b"slowly")]) as server:
        got = await _fetch(reader, server, NO_MORE)
    assert isinstance(got.error, StreamCutError)
    assert isinstance(got.error, reader.library.ReadError)
    assert got.error.turn is not None
    assert got.error.turn.text == read_bedrock(got.body).answer.text != ""
    assert_well_formed("bedrock", got.body, whole=False)


async def test_a_healthy_stream_passes_byte_for_byte(reader: Reader) -> None:
    async with FaultServer(SPOKEN) as server:
        got = await _fetch(reader, server, IMPATIENT)
    assert got.body == _unbroken(SPOKEN)
    assert (got.outcome.kind, len(server.requests)) == ("complete", 1)
