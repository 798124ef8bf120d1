"""What "the same answer" means, decided from the bytes that a reader got.

The bytes are read by a small reader written for this, not by seamstream's core: what is judged must not judge
itself. Two turns are equal when text (adjacent parts joined), refusal, stop reason and tool calls (name,
arguments, order) are equal.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace

from ..recovery.continuation.facts import Dialect
from .turn_parts import RawCall, ReadTurn, put_together
from .turn_readers import READERS, read_candidates, read_chunk, read_frames

_LINE_END = re.compile(rb"\r\n|\n|\r")


def read_turn(dialect: Dialect, received: bytes, *, choice: int = 0) -> ReadTurn:
    """The turn in `received`, which may break off anywhere."""
    turn, raw_calls = ReadTurn(), dict[int, RawCall]()
    if dialect == "bedrock":
        return read_frames(received)
    for data in _lines(received) if dialect == "ollama" else _event_data(received):
        if data == "[DONE]":
            continue
        event = json.loads(data)
        if event.get("error") or event.get("type") == "error":
            turn.error = event.get("error") or event
        elif dialect == "openai-chat":
            read_chunk(event, turn, raw_calls, choice)
        elif dialect == "gemini":
            read_candidates(event, turn, raw_calls, choice)
        else:
            READERS[dialect](event, turn, raw_calls)
    turn.calls = [put_together(raw_calls[index]) for index in sorted(raw_calls)]
    return turn


def differences(expected: ReadTurn, got: ReadTurn) -> list[str]:
    """The names of the properties that are not equal; empty when both are the same answer."""
    pairs = {
        "text": (expected.text, got.text),
        "refusal": (expected.refusal, got.refusal),
        "tool calls": (expected.calls, got.calls),
        "stop reason": (expected.stop, got.stop),
        "end": (expected.ended, got.ended),
    }
    return [name for name, (left, right) in pairs.items() if left != right]


def salvaged(at_the_cut: ReadTurn) -> ReadTurn:
    """What is due when a cut left complete calls: its text and those calls, ended as tool use (plan R2)."""
    calls = [call for call in at_the_cut.calls if call.whole]
    return replace(at_the_cut, calls=calls, stop="tool_use", ended=True, error=None)


def _event_data(received: bytes) -> list[str]:
    """The data of every event that a blank line has closed."""
    events, lines = list[str](), list[str]()
    *closed_lines, _ = _LINE_END.split(received)
    for line in closed_lines:
        if not line and lines:
            events.append("\n".join(lines))
            lines = []
        elif line.startswith(b"data:"):
            lines.append(line[5:].removeprefix(b" ").decode(errors="replace"))
    return events


def _lines(received: bytes) -> list[str]:
    """Every line of NDJSON that has come to its end."""
    *closed, _ = received.split(b"\n")
    return [line.decode(errors="replace") for line in closed if line.strip()]
