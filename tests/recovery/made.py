"""Snapshots and request facts for tests: everything empty unless a test says otherwise."""

from __future__ import annotations

import dataclasses
from typing import Any

from seamstream.recovery.continuation.request import RequestFacts
from seamstream.types import PartialToolCall, Shown, Snapshot, ToolCall, Usage

WHOLE_CALL = ToolCall("call_1", "weather", '{"city":"Oslo"}')
HALF_CALL = PartialToolCall("call_2", "time", '{"zone":"Eur')
OTHER_HALF_CALL = PartialToolCall("call_3", 'say "hi"', "")

EMPTY = Snapshot(
    attempt=1,
    text="",
    reasoning="",
    refusal="",
    completed_tool_calls=(),
    in_flight_tools=(),
    usage=Usage(),
    stop_reason=None,
    raw_stop_reason=None,
    terminal_seen=False,
    shown=Shown(),
    bytes_received=0,
    content_deltas=0,
    choices=1,
    server_items="none",
    signed_thinking=(),
    response_id="",
    model="",
    degraded=None,
    error=None,
)


def snapshot(**fields: Any) -> Snapshot:
    return dataclasses.replace(EMPTY, **fields)


def facts(**fields: Any) -> RequestFacts:
    return RequestFacts(**{"dialect": "openai-chat", **fields})
