"""Every way in which a stream can break over HTTP/1.1, and the answer that its reader gets all the same."""

from __future__ import annotations

import pytest

from seamstream import StreamCutError
from seamstream.testing import Dialect, Ending, Fault, FaultServer, differences, read_turn
from tests.httpx.asking import AT_ONCE, CALLING, NO_MORE, SPOKEN, Reader, policy_for, whole

CUTS = {
    "reset": (Fault.reset(after_events=5), "ConnectionReset"),
    "reset in an event": (Fault.reset(after_text=b"light"), "ConnectionReset"),
    "fin": (Fault.fin(after_events=5), "ConnectionReset"),
    "fin in a chunk": (Fault.fin(after_events=6, torn_chunk=True), "ConnectionReset"),
    "short length": (Fault.short_length(after_events=5), "ConnectionReset"),
    "short length, reset": (Fault.short_length(Ending.RESET, after_events=5), "ConnectionReset"),
    "clean end": (Fault.clean_end(after_events=5), "EarlyEof"),
    "close": (Fault.close_delimited(after_events=5), "EarlyEof"),
    "bad chunk size": (Fault.bad_chunk_size(after_events=5), "MalformedFrame"),
    "stall": (Fault.stall(after_events=5), "IdleStall"),
    "stall with pings": (Fault.stall_with_pings(0.02, after_events=5), "IdleStall"),
    "error event": (Fault.in_band_error(529, after_events=5), "Provider5xxMidStream(529)"),
}
BEFORE = {
    "503": Fault.http_error(503),
    "429": Fault.http_error(429, {"retry-after": "0"}),
    "no response": Fault.no_response(),
    "reset before the head": Fault.no_response(Ending.RESET),
}
DIALECTS: list[Dialect] = ["openai-chat", "anthropic"]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("name", CUTS)
async def test_a_cut_answer_arrives_whole(reader: Reader, dialect: Dialect, name: str) -> None:
    fault, cause = CUTS[name]
    async with FaultServer(SPOKEN, [fault]) as server:
        got = await reader.fetch(server.url_for(dialect), policy_for(fault))
    assert got.error is None
    assert differences(read_turn(dialect, whole(SPOKEN, dialect)), read_turn(dialect, got.body)) == []
    assert (got.outcome.kind, got.outcome.causes, len(server.requests)) == ("recovered", (cause,), 2)
    assert got.headers["x-seamstream-run-id"] == got.outcome.run_id


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_call_that_is_whole_at_the_cut_needs_no_request(reader: Reader, dialect: Dialect) -> None:
    events = len(CALLING.reply(dialect, {"stream": True, "messages": []}).events)
    # All but the end: chat has a finish reason and [DONE] there, Anthropic message_delta and message_stop.
    async with FaultServer(CALLING, [Fault.reset(after_events=events - 2)]) as server:
        got = await reader.fetch(server.url_for(dialect), AT_ONCE)
    assert differences(read_turn(dialect, whole(CALLING, dialect)), read_turn(dialect, got.body)) == []
    assert (got.outcome.kind, got.outcome.plan, len(server.requests)) == ("salvaged", "R2", 1)


@pytest.mark.parametrize("name", BEFORE)
async def test_a_failure_before_the_stream_is_retried(reader: Reader, name: str) -> None:
    async with FaultServer(SPOKEN, [BEFORE[name]]) as server:
        got = await reader.fetch(server.url_for("openai-chat"), AT_ONCE)
    assert got.body == whole(SPOKEN, "openai-chat")
    assert (got.outcome.kind, got.outcome.attempts, len(server.requests)) == ("recovered", 2, 2)


async def test_the_last_answer_of_the_provider_is_its_own(reader: Reader) -> None:
    script = [Fault.http_error(529)] * 4
    async with FaultServer(SPOKEN, script) as server:
        got = await reader.fetch(server.url_for("anthropic"), AT_ONCE)
        assert (got.status, got.headers["x-should-retry"]) == (529, "false")
        assert b"overloaded_error" in got.body
        assert got.body == bytes(server.requests[-1].sent)
        assert len(server.requests) == 1 + AT_ONCE.max_recoveries


async def test_the_last_failure_to_connect_is_the_transports_own(reader: Reader) -> None:
    async with FaultServer(SPOKEN) as server:
        url = server.url_for("openai-chat")
    got = await reader.fetch(url, AT_ONCE)
    assert type(got.error) is reader.library.ConnectError
    assert got.outcome.attempts == 1 + AT_ONCE.max_recoveries


async def test_a_stream_cut_for_good_raises_both_kinds_of_error(reader: Reader) -> None:
    async with FaultServer(SPOKEN, [Fault.reset(after_text=b"slowly")]) as server:
        got = await reader.fetch(server.url_for("openai-chat"), NO_MORE)
    error = got.error
    assert isinstance(error, StreamCutError)
    assert isinstance(error, reader.library.ReadError)
    assert isinstance(error.__cause__, reader.library.ReadError)
    assert error.turn is not None
    assert error.turn.text == read_turn("openai-chat", got.body).text != ""
    assert (str(error.cause), error.code) == ("ConnectionReset", "budget_exhausted")


async def test_two_cuts_in_a_row(reader: Reader) -> None:
    script = [Fault.reset(after_events=4), Fault.clean_end(after_events=4)]
    async with FaultServer(SPOKEN, script) as server:
        got = await reader.fetch(server.url_for("anthropic"), AT_ONCE)
    assert got.error is None
    assert read_turn("anthropic", got.body).text == read_turn("anthropic", whole(SPOKEN, "anthropic")).text
    assert got.outcome.causes == ("ConnectionReset", "EarlyEof")
