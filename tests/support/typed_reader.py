"""Puts the events of a typed reader together as the README tells a program to do it."""

from __future__ import annotations

from collections.abc import Iterable

from seamstream import types
from tests.support.turns import Answer


def fold(events: Iterable[types.Event]) -> Answer:
    """The turn that the events tell: a reset drops everything, a cancelled call is not called."""
    text = refusal = ""
    calls: list[tuple[str, str]] = []
    stop: str | None = None
    for event in events:
        assert stop is None or isinstance(event, types.UsageUpdate), "an event after the end"
        match event:
            case types.StreamReset():
                text, refusal, calls = "", "", []
            case types.TextDelta():
                text += event.text
            case types.RefusalDelta():
                refusal += event.text
            case types.ToolCallReady():
                calls.append((event.name, event.arguments))
            case types.Finish():
                stop = event.stop_reason
    return Answer(text, refusal, tuple(calls), stop)
