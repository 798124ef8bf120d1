"""The judge of the cut suites condemns what a reader must not get; else its silence would mean nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from seamstream.errors import StreamCutError
from tests.corpus import by_name
from tests.exhaustive.cut import Cut, Played, play
from tests.exhaustive.judge import judge
from tests.support.pure_run import SyncRun

TEXT, TOOLS = "anthropic_text_plain", "chat_tool_parallel"


def _played(name: str, share: float, **cut: str) -> Played:
    stream = by_name(name)
    return play(stream, Cut(int(len(stream.data) * share), "reset", **cut))  # type: ignore[arg-type]


def _with(played: Played, **run: object) -> Played:
    fields = {name: getattr(played.run, name) for name in ("data", "events", "requests", "finished", "error")}
    return replace(played, run=SyncRun(**{**fields, **run}))


def _replaced(old: bytes, new: bytes) -> Callable[[Played], Played]:
    def spoil(played: Played) -> Played:
        assert old in played.run.data
        return _with(played, data=played.run.data.replace(old, new))

    return spoil


def _doubled(played: Played) -> Played:
    delta = next(line for line in played.run.data.split(b"\n\n") if b"text_delta" in line)
    return _with(played, data=played.run.data.replace(delta, delta + b"\n\n" + delta, 1))


def _one_event_less(played: Played) -> Played:
    return _with(played, events=played.run.events[:-1])


SPOILT: dict[str, tuple[str, float, str, Callable[[Played], Played]]] = {
    "a character less": (TEXT, 0.5, "bytes", _replaced(b"small world", b"small word")),
    "a delta twice": (TEXT, 0.5, "bytes", _doubled),
    "no end": (TEXT, 0.5, "bytes", _replaced(b'event: message_stop\ndata: {"type":"message_stop"}\n\n', b"")),
    "another stop reason": (TEXT, 0.5, "bytes", _replaced(b"end_turn", b"max_tokens")),
    "a call less": (TOOLS, 0.95, "bytes", _replaced(b'"log_note"', b'"now"')),
    "other arguments": (TOOLS, 0.95, "bytes", _replaced(b"2026-05-01", b"2026-05-02")),
    "a typed reader without its end": (TEXT, 0.5, "typed", _one_event_less),
    "a failure where none is allowed": (
        *(TEXT, 0.5, "bytes"),
        lambda played: _with(played, error=StreamCutError(turn=played.driver.turn), finished=False),
    ),
    "a run that never ended": (TEXT, 0.5, "bytes", lambda played: _with(played, finished=False)),
}


@pytest.mark.parametrize("how", SPOILT)
def test_what_is_spoilt_is_condemned(how: str) -> None:
    name, share, reader, spoil = SPOILT[how]
    played = _played(name, share, reader=reader)
    judge(played)
    with pytest.raises(AssertionError):
        judge(spoil(played))


def test_a_failure_that_ends_like_a_whole_answer_is_condemned() -> None:
    played = _played("chat_two_choices", 0.5)
    assert judge(played) == "failure"
    with pytest.raises(AssertionError):
        judge(_with(played, data=played.run.data + b"data: [DONE]\n\n"))


def test_a_failure_that_loses_the_partial_is_condemned() -> None:
    played = _played("chat_structured_output", 0.5)
    assert judge(played) == "failure"
    with pytest.raises(AssertionError):
        judge(_with(played, error=StreamCutError(turn=None)))
