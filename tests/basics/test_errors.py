"""The exception tree: what an error says, and that it survives copying and a second base class."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import aiohttp
import httpx2
import pytest

from seamstream import errors
from seamstream.errors import (
    ConfigurationError,
    CutReport,
    FrameTooLarge,
    HttpFailureError,
    NotAnEventStream,
    SeamstreamError,
    StreamCutError,
)
from seamstream.types import ConnectionReset, Outcome, Provider5xxMidStream, Turn, Usage


class AiohttpCut(StreamCutError, aiohttp.ClientPayloadError):
    """As a transport makes it."""


class HttpxCut(StreamCutError, httpx2.ReadError):
    """As another transport makes it."""


def turn(text: str) -> Turn:
    outcome = Outcome("failed", 2, (), Usage(), "run-7", (), None)
    return Turn(text, "", "", (), Usage(), None, (), (), (), outcome)


REPORT = CutReport(
    cause=ConnectionReset(),
    code=errors.BUDGET_EXHAUSTED,
    why="all 2 recoveries are used",
    attempt=3,
    attempts_allowed=3,
    characters=412,
    run_id="run-7",
    retryable=True,
    request_ids=("req_1", "req_2"),
    turn=turn("Low tide"),
)


def test_the_message_says_what_where_why_and_whom_to_ask() -> None:
    assert str(StreamCutError.from_report(REPORT)) == (
        "stream cut by ConnectionReset after character 412, attempt 3 of 3; not continued: all 2 recoveries "
        "are used; what was received is in .turn; run run-7, provider request req_1, req_2"
    )


def test_the_message_without_a_turn_ids_or_a_cause() -> None:
    bare = CutReport(None, errors.ABORTED, "it was aborted", 1, 3, 0, "run-8")
    assert bare.message() == (
        "stream cut by failure after character 0, attempt 1 of 3; not continued: it was aborted; "
        "nothing was received; run run-8"
    )


def test_a_cause_with_a_status_shows_it() -> None:
    report = CutReport(Provider5xxMidStream(529), errors.PERMANENT_ERROR, "x", 1, 1, 0, "r")
    assert "Provider5xxMidStream(529)" in report.message()


@pytest.mark.parametrize("kind", [StreamCutError, AiohttpCut, HttpxCut])
def test_attributes_and_classes(kind: type[StreamCutError]) -> None:
    error = kind.from_report(REPORT)
    assert type(error) is kind
    assert isinstance(error, SeamstreamError)
    assert error.turn == turn("Low tide")
    assert error.cause == ConnectionReset()
    assert (error.run_id, error.code, error.retryable) == ("run-7", "budget_exhausted", True)
    assert error.request_ids == ("req_1", "req_2")
    assert str(error) == REPORT.message()


def test_the_transports_own_except_clause_catches_it() -> None:
    with pytest.raises(aiohttp.ClientPayloadError):
        raise AiohttpCut.from_report(REPORT)
    with pytest.raises(httpx2.TransportError):
        raise HttpxCut.from_report(REPORT)


EXAMPLES: list[SeamstreamError] = [
    StreamCutError.from_report(REPORT),
    AiohttpCut.from_report(REPORT),
    HttpxCut.from_report(REPORT),
    HttpFailureError(
        "no", status=503, content_type="text/plain", excerpt="x", kind="overloaded", retry_after_s=2.0
    ),
    NotAnEventStream.of(200, "text/html", b"<html>"),
    FrameTooLarge("too large", limit_bytes=10, offset=3),
    ConfigurationError("wrong"),
]


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda error: pickle.loads(pickle.dumps(error))])
def test_a_copy_says_the_same(error: SeamstreamError, again: Any) -> None:
    other = again(error)
    assert type(other) is type(error)
    assert str(other) == str(error)
    assert vars(other) == vars(error)


class TestNotAnEventStream:
    def test_it_shows_status_type_and_the_beginning_of_the_body(self) -> None:
        error = NotAnEventStream.of(
            200, "text/html; charset=utf-8", b"<html>\n <title>Sign in</title>" + b"x" * 5000
        )
        assert (error.status, error.content_type) == (200, "text/html; charset=utf-8")
        assert error.excerpt.startswith("<html> <title>Sign in</title>x")
        assert len(error.excerpt) == errors.MAX_EXCERPT_CHARS
        assert "status 200, text/html; charset=utf-8, body begins with '<html> <title>Sign in" in str(error)
        assert not error.retryable

    def test_a_body_that_is_no_text_and_no_type(self) -> None:
        error = NotAnEventStream.of(200, "", b"\xff\xfe")
        assert error.excerpt == "\ufffd\ufffd"
        assert "no content type" in str(error)


def test_a_wrong_setting_is_also_a_value_error() -> None:
    assert issubclass(ConfigurationError, ValueError)


def test_the_tree_drawn_at_the_top_is_the_tree() -> None:
    classes = {
        name
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, SeamstreamError)
    }
    drawing = (errors.__doc__ or "").partition("A transport raises")[0]
    assert {name for name in classes if name in drawing} == classes
