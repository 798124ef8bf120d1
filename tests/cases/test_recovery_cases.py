"""Reported cases of the recovery layer on real sockets: what may be sent again, how the rest is asked for."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from seamstream import HttpFailureError, RecoveryPolicy, StreamCutError
from seamstream.recovery.retry_after import read_retry_hint
from seamstream.testing import (
    Answer,
    DeterministicModel,
    Ending,
    FakeClock,
    Fault,
    Text,
    Tool,
    differences,
    read_turn,
)
from tests.middleware.asking import QUESTION, Asker, read_on, turns_of_the_loop, until
from tests.middleware.test_healing import AT_ONCE

STREAMED = {"content-type": "text/event-stream"}
NEVER = RecoveryPolicy(max_recoveries=0)
NOW = 1_772_445_600.0  # Mon, 02 Mar 2026 10:00:00 GMT


def _chunk(text: str) -> bytes:
    return b'data: {"choices":[{"index":0,"delta":{"content":"' + text.encode() + b'"}}]}\n\n'


def _streamed(body: bytes, ending: Ending = Ending.COMPLETE) -> Fault:
    return Fault(ending, body=body, headers=STREAMED)


BEATS = b': hb\n\nevent: ping\ndata: {"type":"ping"}\n\nevent: error\n'
BAD_REQUEST = BEATS + b'data: {"error":{"message":"bad field","type":"invalid_request","code":400}}\n\n'
OVERLOADED = BEATS + b'data: {"error":{"message":"busy","type":"overloaded_error","code":529}}\n\n'


async def test_b25_an_error_before_any_output_acts_like_an_http_failure(asker: Asker) -> None:
    """A bad request is not sent again; the reader gets the provider's own event."""
    async with asker.scene([_streamed(BAD_REQUEST)], policy=AT_ONCE) as scene:
        assert await scene.read() == BAD_REQUEST
        assert len(scene.requests) == 1
    assert scene.runs[0].kind == "failed"


async def test_b25_an_overload_before_any_output_is_tried_again(asker: Asker) -> None:
    expected = await asker.unbroken_turn()
    async with asker.scene([_streamed(OVERLOADED)], policy=AT_ONCE) as scene:
        assert differences(expected, await scene.turn()) == []
        assert scene.requests[1].body == scene.requests[0].body
    assert (scene.runs[0].kind, scene.runs[0].attempts) == ("recovered", 2)


@pytest.mark.parametrize(
    ("fault", "limit_s", "partial"),
    [
        (_streamed(_chunk("Go"), Ending.STALL), 120.0, "Go"),
        (_streamed(b"", Ending.STALL), 600.0, ""),
    ],
    ids=["after text", "before the first byte of the body"],
)
async def test_b74_a_dead_connection_is_a_typed_stall_with_the_partial(
    asker: Asker, fault: Fault, limit_s: float, partial: str
) -> None:
    clock, chunks = FakeClock(), list[bytes]()
    async with asker.scene([fault], policy=NEVER, middleware={"clock": clock}) as scene:
        reading = asyncio.create_task(read_on(scene, chunks))
        await until(lambda: scene.requests and scene.requests[0].status and clock.pending)
        await turns_of_the_loop()
        await clock.advance(limit_s - 1.0)
        await turns_of_the_loop()
        assert not reading.done()
        await clock.advance(1.5)
        with pytest.raises(StreamCutError) as caught:
            await reading
        await scene.requests[0].over()
        assert scene.requests[0].client_left_at is not None
    assert str(caught.value.cause) == "IdleStall"
    assert caught.value.turn is not None
    assert caught.value.turn.text == partial


@pytest.mark.parametrize(
    ("headers", "body", "wait_s"),
    [
        ({"retry-after": "7"}, None, 7.0),
        ({"retry-after": "2.5"}, None, 2.5),
        ({"retry-after": "0"}, None, 0.0),
        ({"retry-after": "60s"}, None, 60.0),
        ({"retry-after": "Mon, 02 Mar 2026 10:00:45 GMT"}, None, 45.0),
        ({"retry-after": "Mon, 02 Mar 2026 09:00:00 GMT"}, None, 0.0),
        *(({"retry-after": value}, None, None) for value in ("-4", "+4", "soon", "nan", "inf", "")),
        ({"retry-after-ms": "250", "retry-after": "9"}, None, 0.25),
        ({"retry-after": "Mon, 02 Mar 2093 10:00:00 GMT"}, None, 7 * 86_400.0),
        (
            {},
            {
                "error": {
                    "code": 429,
                    "details": [
                        {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "12.345678901s"}
                    ],
                }
            },
            12.345678901,
        ),
    ],
)
def test_b75_every_form_of_a_wait_has_its_value_and_no_other(
    headers: dict[str, str], body: Any, wait_s: float | None
) -> None:
    found = read_retry_hint(headers, body, now=NOW).wait_s
    assert found == (wait_s if wait_s is None else pytest.approx(wait_s))


@pytest.mark.parametrize("blanks", [" ", "\n\n", "", "\n"])
async def test_b76_blanks_at_the_end_are_not_sent_and_shown_exactly_once(asker: Asker, blanks: str) -> None:
    model = DeterministicModel(Answer((Text(("First,", "\n\n", "second", " half.")),)), leading_blanks=blanks)
    cut = Fault.reset(after_text=b"second")
    async with asker.scene([cut], dialect="anthropic", model=model, policy=AT_ONCE) as scene:
        got = await scene.turn()
        sent = scene.requests[1].body["messages"][-1]
    assert (sent["role"], sent["content"]) == ("assistant", "First,")
    assert got.text == "First,\n\nsecond half."
    assert scene.runs[0].joins == ("prefill",)


async def test_b76_blanks_alone_are_no_text_and_the_request_goes_out_as_it_was(asker: Asker) -> None:
    model = DeterministicModel(Answer((Text(("\n\n", "First.")),)))
    cut = Fault.reset(after_text=b"First")
    async with asker.scene([cut], dialect="anthropic", model=model, policy=AT_ONCE) as scene:
        assert (await scene.turn()).text == "\n\nFirst."
        assert scene.requests[1].body == scene.requests[0].body
    assert scene.runs[0].plan == "R4"


LOW_TIDE = DeterministicModel(
    Answer((Text(("Low tide at ", "six", " in the morning.")),)), accepts_prefill=False
)


async def test_b77_where_no_prefill_is_known_of_none_is_sent(asker: Asker) -> None:
    cut = Fault.reset(after_events=3)
    async with asker.scene([cut], model=LOW_TIDE, policy=AT_ONCE) as scene:
        assert (await scene.turn()).text == LOW_TIDE.answer.text
        assert [exchange.status for exchange in scene.requests] == [200, 200]
        assert scene.requests[1].body["messages"][-1]["role"] == "user"


async def test_b77_a_refused_prefill_is_followed_by_the_other_form_once(asker: Asker) -> None:
    cut = Fault.reset(after_events=4)
    async with asker.scene([cut], dialect="anthropic", model=LOW_TIDE, policy=AT_ONCE) as scene:
        assert (await scene.turn()).text == LOW_TIDE.answer.text
        assert [exchange.status for exchange in scene.requests] == [200, 400, 200]


async def test_b77_if_that_fails_too_the_error_is_the_cut_and_the_400_its_cause(asker: Asker) -> None:
    script = [Fault.reset(after_events=4), Fault.none(), Fault.http_error(400)]
    async with asker.scene(script, dialect="anthropic", model=LOW_TIDE, policy=AT_ONCE) as scene:
        with pytest.raises(StreamCutError) as caught:
            await scene.read()
        assert [exchange.status for exchange in scene.requests] == [200, 400, 400]
    assert str(caught.value.cause) == "ConnectionReset"
    assert isinstance(caught.value.__cause__, HttpFailureError)
    assert caught.value.__cause__.status == 400
    assert caught.value.turn is not None
    assert caught.value.turn.text.startswith("Low tide at ")


@pytest.mark.parametrize("dialect", ["openai-chat", "anthropic"])
async def test_b78_a_turn_with_tools_goes_on_from_its_text_and_calls_the_tool(
    asker: Asker, dialect: Any
) -> None:
    """Our own rule: the text is continued, with the same tools; of the cut arguments nothing is sent."""
    answer = Answer((Text(("Let me check.", " One moment, please.")), Tool("look", ('{"w":', '"tide"', "}"))))
    asked = {**QUESTION, "tools": [{"type": "function", "function": {"name": "look"}}], "tool_choice": "auto"}
    model = DeterministicModel(answer)
    async with asker.scene(dialect=dialect, model=model, stock=True) as scene:
        expected = await scene.turn(json=asked)
    cut = Fault.reset(after_text=b"tide")
    async with asker.scene([cut], dialect=dialect, model=model, policy=AT_ONCE) as scene:
        got = await scene.turn(json=asked)
        first, second = (exchange.body for exchange in scene.requests)
    assert differences(expected, got) == []
    assert [call.arguments for call in got.calls] == [{"w": "tide"}]
    assert (second["tools"], second["tool_choice"]) == (first["tools"], first["tool_choice"])
    assert b"tide" not in scene.requests[1].raw_body
    assert scene.runs[0].plan == "R3"


SECOND = _chunk("Grey ") + _chunk("gulls!")
SECOND += b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
ROLE = b'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}\n\n: beat\n\n'


async def test_b80_after_output_a_second_beginning_is_shown_once(asker: Asker) -> None:
    script = [_streamed(_chunk("Grey "), Ending.RESET), _streamed(SECOND)]
    async with asker.scene(script, policy=AT_ONCE) as scene:
        received = await scene.read()
        assert scene.requests[1].body != scene.requests[0].body
    assert received.count(b"Grey ") == 1
    assert read_turn("openai-chat", received).text == "Grey gulls!"


async def test_b80_before_output_the_request_is_sent_again_and_the_start_is_shown_once(asker: Asker) -> None:
    script = [_streamed(ROLE, Ending.RESET), _streamed(ROLE + SECOND)]
    async with asker.scene(script, policy=AT_ONCE) as scene:
        received = await scene.read()
        assert scene.requests[1].body == scene.requests[0].body
    assert received.count(b'"role"') == 1
    assert read_turn("openai-chat", received).text == "Grey gulls!"


async def test_b80_what_does_not_fit_is_an_error_with_the_partial(asker: Asker) -> None:
    other = SECOND.replace(b"Grey ", b"White ")
    async with asker.scene(
        [_streamed(_chunk("Grey "), Ending.RESET), _streamed(other)], policy=AT_ONCE
    ) as scene:
        with pytest.raises(StreamCutError) as caught:
            await scene.read()
    assert caught.value.turn is not None
    assert caught.value.turn.text == "Grey "
