"""When a response cannot be taken up again: what is done instead, and what it costs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from seamstream.recovery.continuation.dialects.interactions import InteractionsForm
from seamstream.recovery.policy import RecoveryPolicy
from tests.corpus import CorpusStream
from tests.resuming.background import BACKGROUND, INTERACTIONS, Break, events_after, mark_of, play, turn
from tests.support.turns import turn_of
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
    last = len(frames(TEXT.data)) - len(events_after(TEXT.data, "4")) - 1
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


@pytest.mark.parametrize("stream", INTERACTIONS, ids=str)
def test_an_interaction_whose_stream_hangs_is_asked_for_as_a_whole(stream: CorpusStream) -> None:
    """As has been seen of Gemini's: two events, and then nothing more."""
    cut = Break(_behind(stream, b"interaction.status_update"))
    played = play(stream, cut, hangs=True)
    name = mark_of(frames(stream.data)[-2]) or ""
    assert played.run.error is None
    assert [route.partition("?")[2][:12] for route in played.routes] == ["stream=true&", ""], name
    assert turn_of(stream.dialect, played.run.data).answer == turn_of(stream.dialect, stream.data).answer
    first, second = turn(played).attempts[1:]
    assert first.ended_at is not None
    assert first.ended_at - first.started_at == InteractionsForm.resume_patience_s
    assert (first.cause, second.strategy) == ("IdleStall", "resume")


def test_a_response_that_is_another_one_is_never_joined() -> None:
    cut = Break(_behind(TEXT, b"response.output_text.delta"))
    played = play(TEXT, cut, other=BY_NAME["responses_text_code"])
    assert played.run.error is not None
    assert TEXT.data.startswith(played.run.data)
    assert [record.error for record in turn(played).attempts[2:]] == ["seam_refused"]


def test_an_interaction_that_is_not_stored_is_not_taken_up() -> None:
    stream = replace(INTERACTIONS[0], request={**INTERACTIONS[0].request, "store": False})
    assert play(stream, Break(_behind(stream, b"interaction.status_update"))).routes == []


def test_calls_that_are_whole_need_nothing_that_is_gone() -> None:
    """The second call is cut, and the server has nothing of the response any more."""
    stream = BY_NAME["responses_tool_parallel"]
    at = stream.data.rindex(b"event: response.function_call_arguments.delta")
    played = play(stream, Break(at), gone=True)
    assert played.run.error is None
    assert turn(played).outcome.kind == "salvaged"
    assert [record.strategy for record in turn(played).attempts] == [None, "resume"]
    assert turn(played).attempts[1].error is not None
    assert turn_of(stream.dialect, played.run.data).answer.stop == "tool_use"
