"""When a response cannot be taken up again: what is done instead, and what it costs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from seamstream.recovery.policy import RecoveryPolicy
from tests.corpus import CorpusStream
from tests.resuming.background import BACKGROUND, Break, events_after, play, turn
from tests.support.wire import frames

BY_NAME = {stream.name: stream for stream in BACKGROUND}
TEXT = BY_NAME["responses_text_plain"]


def _behind(stream: CorpusStream, kind: bytes) -> int:
    """The offset behind the first event of that kind."""
    offset = 0
    for frame in frames(stream.data):
        offset += len(frame)
        if frame.startswith(b"event: " + kind):
            return offset
    raise LookupError(kind)


def test_what_is_gone_before_anything_was_shown_is_asked_for_again_and_costs_one_recovery() -> None:
    cut = Break(_behind(TEXT, b"response.in_progress"))
    played = play(TEXT, cut, gone=True, policy=RecoveryPolicy(max_recoveries=1))
    assert played.run.error is None
    assert played.run.data.count(b"response.completed\n") == 1
    assert [record.plan for record in turn(played).attempts] == [None, "R1", "R4"]
    assert [record.strategy for record in turn(played).attempts] == [None, "resume", None]


def test_what_is_gone_after_text_was_shown_is_an_honest_failure() -> None:
    played = play(TEXT, Break(_behind(TEXT, b"response.output_text.delta")), gone=True)
    assert played.run.error is not None
    assert "not_continuable" in str(played.run.error)
    assert len(played.routes) == 1


def test_a_gap_is_never_shown() -> None:
    played = play(TEXT, Break(_behind(TEXT, b"response.output_text.delta"), missing=1))
    assert played.run.error is not None
    assert TEXT.data.startswith(played.run.data)


@pytest.mark.parametrize("fields", [{"background": False}, {"store": False}, {"background": None}])
def test_nothing_is_resumed_that_was_not_asked_to_be_kept(fields: dict[str, bool]) -> None:
    stream = replace(TEXT, request={**TEXT.request, **fields})
    assert play(stream, Break(_behind(TEXT, b"response.in_progress"))).routes == []


def test_the_route_names_the_response_and_the_last_event_that_was_read() -> None:
    played = play(TEXT, Break(_behind(TEXT, b"response.output_text.delta") + 5))
    last = len(frames(TEXT.data)) - len(events_after(TEXT.data, 4)) - 1
    assert played.routes == [f"GET /v1/responses/resp_0001c41b7e?stream=true&starting_after={last}"]


def test_a_call_that_went_live_and_was_cut_in_the_middle_goes_on() -> None:
    stream = next(stream for stream in BACKGROUND if b"function_call_arguments.delta" in stream.data)
    played = play(stream, Break(_behind(stream, b"response.function_call_arguments.delta"), "stall"))
    assert played.run.data.replace(b": keep-alive\n\n", b"") == stream.data


def test_a_resumed_response_is_paid_for_once() -> None:
    played = play(TEXT, Break(_behind(TEXT, b"response.output_text.delta")))
    assert (turn(played).usage.output_tokens, turn(played).usage.complete) == (60, True)
    assert turn(played).outcome.extra_usage.output_tokens is None
    assert [seam.attempt for seam in turn(played).seams] == [2]
