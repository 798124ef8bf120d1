"""How a Gemini stream ends when its answer went wrong: blocked, unreadable, or an error that is no event."""

from __future__ import annotations

import json
from typing import Any

import pytest

from seamstream import StreamCutError
from seamstream.testing import DeterministicModel
from tests.driver.playing import ANSWER, HEALTHY, QUESTION, Reply, Stage
from tests.support.turns import turn_of

TWO = json.dumps({**QUESTION, "generationConfig": {"candidateCount": 2}}).encode()
BUSY = {"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}}
WRONG = {"error": {"code": 400, "message": "Bad tool.", "status": "INVALID_ARGUMENT"}}


def event(**chunk: Any) -> bytes:
    return b"data: " + json.dumps({**chunk, "responseId": "r"}).encode() + b"\r\n\r\n"


def blocked(reason: str) -> bytes:
    return event(promptFeedback={"blockReason": reason}, usageMetadata={"promptTokenCount": 9})


def begun(events: int) -> list[bytes]:
    return DeterministicModel(ANSWER).reply("gemini", QUESTION).events[:events]


@pytest.mark.parametrize("reader", ["bytes", "typed"])
@pytest.mark.parametrize("choices", [1, 2])
def test_a_blocked_prompt_is_the_whole_answer_however_many_choices_were_asked_for(
    reader: Any, choices: int
) -> None:
    body = {"body": TWO} if choices == 2 else {}
    stage = Stage("gemini", reader=reader, choices=choices, **body)
    result = stage.play(Reply(chunks=[blocked("PROHIBITED_CONTENT")]))
    turn = stage.driver.turn
    assert turn is not None
    assert result.error is None
    assert (turn.stop_reason, turn.text, turn.outcome.kind) == ("content_filter", "", "complete")
    assert len(result.requests) == 1
    assert result.data == (blocked("PROHIBITED_CONTENT") if reader == "bytes" else b"")


def test_of_two_choices_one_that_ends_is_not_the_end() -> None:
    one = event(candidates=[{"content": {"parts": [{"text": "a"}]}, "finishReason": "STOP", "index": 0}])
    result = Stage("gemini", body=TWO, choices=2).play(Reply(chunks=[one]))
    assert isinstance(result.error, StreamCutError)


@pytest.mark.parametrize("reason", ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "MALFORMED_RESPONSE"])
@pytest.mark.parametrize("said", [0, 4])
def test_what_the_provider_could_not_read_ends_as_an_error_and_is_not_asked_for_again(
    reason: str, said: int
) -> None:
    chunks = [*begun(said), event(candidates=[{"finishReason": reason, "index": 0}])]
    typed = Stage("gemini", reader="typed")
    typed.play(Reply(chunks=chunks))
    assert typed.driver.turn is not None
    assert typed.driver.turn.stop_reason == "error"
    stage = Stage("gemini")
    result = stage.play(Reply(chunks=chunks))
    assert (result.data, len(result.requests)) == (b"".join(chunks), 1)


@pytest.mark.parametrize("form", [None, 1, "\t"], ids=["one line", "a line each", "tabs"])
@pytest.mark.parametrize("end", ["", "\n", "\r\n\r\n"], ids=["no end", "a line end", "a blank line"])
@pytest.mark.parametrize("said", [0, 5])
def test_an_error_that_is_no_event_is_a_cut_wherever_its_bytes_are_cut(
    said: int, end: str, form: Any
) -> None:
    raw = (json.dumps(BUSY, indent=form) + end).encode()
    for size in (1, 7, len(raw)):
        pieces = [raw[at : at + size] for at in range(0, len(raw), size)]
        stage = Stage("gemini")
        result = stage.play(Reply(chunks=[*begun(said), *pieces]), HEALTHY)
        turn = stage.driver.turn
        assert turn is not None
        assert result.error is None
        assert turn.outcome.causes == ("Provider5xxMidStream(503)",)
        assert turn.outcome.plan == ("R1" if said else "R4")
        assert turn_of("gemini", result.data).answer.text == ANSWER.text
        assert b'"error"' not in result.data


def test_an_error_that_is_no_event_and_that_no_retry_mends_is_told_as_it_came() -> None:
    raw = json.dumps(WRONG, indent=2).encode() + b"\n"
    stage = Stage("gemini")
    result = stage.play(Reply(chunks=[*begun(5), raw]), HEALTHY)
    assert stage.driver.turn is not None
    assert stage.driver.turn.outcome.kind == "truncated"
    assert len(result.requests) == 1
    assert result.data == b"".join([*begun(5), raw]) + b"\n"
