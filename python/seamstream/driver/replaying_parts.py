"""What the writers of stored turns share: which calls and which thinking they write, how an event looks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import orjson

from ..types import PartialToolCall, Snapshot, ToolCall

_NOT_BEGUN: Final = ("", "{}")
"""Arguments of which nothing has come, or only what some servers send in their place."""


def sse(document: dict[str, Any]) -> bytes:
    """One event without a name."""
    return b"data: " + orjson.dumps(document) + b"\n\n"


def named_sse(name: str, document: dict[str, Any]) -> bytes:
    """One event with its name."""
    return b"event: " + name.encode() + b"\n" + sse(document)


def all_calls(turn: Snapshot) -> list[ToolCall | PartialToolCall]:
    """The calls for dialects where each says itself that it is over."""
    return [*turn.completed_tool_calls, *turn.in_flight_tools]


def calls_in_a_row(turn: Snapshot) -> list[ToolCall | PartialToolCall]:
    """The calls for dialects where the beginning of the next call closes the one before it.

    Half arguments stay half all the same, but a call whose arguments had not begun would seem complete, so of
    those only one that comes last is written.
    """
    begun = [call for call in turn.in_flight_tools[:-1] if call.arguments.strip() not in _NOT_BEGUN]
    return [*turn.completed_tool_calls, *begun, *turn.in_flight_tools[-1:]]


def thinking_blocks(turn: Snapshot) -> Iterator[dict[str, Any]]:
    """Signed blocks as they were, in their places; what was thought around them has no signature."""
    rest = turn.reasoning
    for raw in turn.signed_thinking:
        block = orjson.loads(raw)
        thought = block.get("thinking", "")
        if thought:
            before, _, rest = rest.partition(thought)
            yield from _unsigned(before)
        yield block
    yield from _unsigned(rest)


def _unsigned(text: str) -> Iterator[dict[str, Any]]:
    if text:
        yield {"type": "thinking", "thinking": text}


def counters(turn: Snapshot, input_name: str, output_name: str) -> dict[str, int]:
    """What is known of the usage, under the dialect's names."""
    known = {input_name: turn.usage.input_tokens, output_name: turn.usage.output_tokens}
    return {name: count for name, count in known.items() if count is not None}
