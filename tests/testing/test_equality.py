"""The judge of equal answers: its reader, and each property that it compares."""

from __future__ import annotations

from typing import Any

import pytest

from seamstream.testing import (
    Answer,
    Dialect,
    ReadTurn,
    RenderOptions,
    Text,
    Tool,
    differences,
    read_turn,
    render,
    salvaged,
    tokens,
)

DIALECTS: list[Dialect] = ["openai-chat", "anthropic"]
by_dialect = pytest.mark.parametrize("dialect", DIALECTS)
SAID = Answer((Text(tokens("Two calls, then.")), Tool("first", ('{"a":', "1}")), Tool("second")))


def turn(dialect: Dialect, answer: Answer = SAID, **options: Any) -> ReadTurn:
    return read_turn(dialect, b"".join(render(dialect, answer, options=RenderOptions(**options))))


@by_dialect
def test_an_answer_equals_itself_however_it_is_written(dialect: Dialect) -> None:
    adjacent = Answer((Text(("Two calls",)), Text((", then.",)), *SAID.parts[1:]))
    assert differences(turn(dialect), turn(dialect, adjacent, reply_id="other", line_end="\r\n")) == []


@by_dialect
@pytest.mark.parametrize(
    ("other", "names"),
    [
        (Answer((Text(("Two calls.",)), *SAID.parts[1:])), ["text"]),
        (Answer((SAID.parts[0], Tool("first", ('{"a":2}',)), Tool("second"))), ["tool calls"]),
        (Answer((SAID.parts[0], Tool("second"), Tool("first", ('{"a":1}',)))), ["tool calls"]),
        (Answer(SAID.parts, stop="max_tokens"), ["stop reason"]),
    ],
)
def test_each_property_counts(dialect: Dialect, other: Answer, names: list[str]) -> None:
    assert differences(turn(dialect), turn(dialect, other)) == names


@by_dialect
def test_a_turn_without_its_end_is_another(dialect: Dialect) -> None:
    events = render(dialect, Answer((Text(("One.",)),)))
    cut = read_turn(dialect, b"".join(events[:2]))
    assert "end" in differences(read_turn(dialect, b"".join(events)), cut)


@by_dialect
def test_a_half_event_says_nothing(dialect: Dialect) -> None:
    events = render(dialect, SAID)
    for length in range(len(events[4])):
        assert read_turn(dialect, b"".join(events[:4]) + events[4][:length]) == read_turn(
            dialect, b"".join(events[:4])
        )


@by_dialect
def test_an_error_event_is_kept(dialect: Dialect) -> None:
    received = b'event: error\ndata: {"type":"error","error":{"type":"api_error","message":"no"}}\n\n'
    assert read_turn(dialect, received).error == {"type": "api_error", "message": "no"}


@by_dialect
@pytest.mark.parametrize(
    ("after", "names"), [(b'first"', []), (b'{\\"a\\":', []), (b'1}"', ["first"]), (b'second"', ["first"])]
)
def test_what_a_cut_leaves_to_salvage(dialect: Dialect, after: bytes, names: list[str]) -> None:
    data = b"".join(render(dialect, SAID))
    until = data.index(b"\n\n", data.index(after)) + 2
    due = salvaged(read_turn(dialect, data[:until]))
    assert [call.name for call in due.calls] == names
    assert (due.text, due.stop, due.ended) == ("Two calls, then.", "tool_use", True)


@by_dialect
def test_a_call_without_arguments_is_whole_once_it_is_closed(dialect: Dialect) -> None:
    events = render(dialect, Answer((Tool("now"), Tool("later"))))
    opened = next(number for number, event in enumerate(events) if b'"now"' in event)
    closed = next(number for number, event in enumerate(events) if b'"later"' in event)
    assert salvaged(read_turn(dialect, b"".join(events[: opened + 1]))).calls == []
    assert [call.name for call in salvaged(read_turn(dialect, b"".join(events[: closed + 1]))).calls] == [
        "now"
    ]
