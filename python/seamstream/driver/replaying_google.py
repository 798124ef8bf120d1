"""A stored turn as chunks of Gemini's `streamGenerateContent`, and as events of its Interactions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import orjson

from ..types import PartialToolCall, Snapshot, ToolCall
from .replaying_parts import all_calls, calls_in_a_row, counters, named_sse, sse, thinking_blocks

_NOWHERE: Final = {"partialArgs": [{"jsonPath": "$", "nullValue": "NULL_VALUE"}]}
"""A piece of arguments with which they cannot be put together."""


def gemini(turn: Snapshot) -> Iterator[bytes]:
    """The chunks; an unfinished call is one that still waits for its arguments."""
    yield _chunk(turn)
    for block in thinking_blocks(turn):
        signature = {"thoughtSignature": block["signature"]} if block.get("signature") else {}
        yield _candidate(turn, {"text": block["thinking"], "thought": True, **signature})
    if turn.text:
        yield _candidate(turn, {"text": turn.text})
    for call in calls_in_a_row(turn):
        signed = {"thoughtSignature": call.signature} if isinstance(call, ToolCall) and call.signature else {}
        yield _candidate(turn, {"functionCall": _function_call(call), **signed})
    if turn.raw_stop_reason is not None:
        yield _stop(turn, turn.raw_stop_reason)


def _function_call(call: ToolCall | PartialToolCall) -> dict[str, Any]:
    names = {"id": call.id, "name": call.name} if call.id else {"name": call.name}
    if isinstance(call, ToolCall):
        return {**names, "args": orjson.Fragment(call.arguments)}
    return {**names, **_NOWHERE} if call.arguments else {**names, "willContinue": True}


def _stop(turn: Snapshot, reason: str) -> bytes:
    """A blocked prompt has reasons of its own, and nothing was said."""
    if turn.stop_reason == "content_filter" and not (turn.text or turn.completed_tool_calls):
        return _chunk(turn, promptFeedback={"blockReason": reason})
    return _candidate(turn, {"text": ""}, finishReason=reason)


def _candidate(turn: Snapshot, part: dict[str, Any], **fields: Any) -> bytes:
    content = {"parts": [part], "role": "model"}
    return _chunk(turn, candidates=[{"content": content, "index": 0, **fields}])


def _chunk(turn: Snapshot, **fields: Any) -> bytes:
    usage = counters(turn, "promptTokenCount", "candidatesTokenCount")
    names = {"modelVersion": turn.model, "responseId": turn.response_id}
    return sse({**fields, "usageMetadata": usage, **names})


def interactions(turn: Snapshot) -> Iterator[bytes]:
    """The events; what the cut left open stays open."""
    head = {"id": turn.response_id, "object": "interaction", "model": turn.model}
    yield _event("interaction.created", interaction={**head, "status": "in_progress"})
    steps = list(_steps(turn))
    for index, (step, deltas, whole) in enumerate(steps):
        yield _event("step.start", index=index, step=step)
        for delta in deltas:
            yield _event("step.delta", index=index, delta=delta)
        if whole or turn.raw_stop_reason is not None:
            yield _event("step.stop", index=index)
    if turn.raw_stop_reason is not None:
        usage = counters(turn, "total_input_tokens", "total_output_tokens")
        ended = {**head, "status": turn.raw_stop_reason, "usage": usage}
        yield _event("interaction.completed", interaction=ended)


_Step = tuple[dict[str, Any], list[dict[str, Any]], bool]


def _steps(turn: Snapshot) -> Iterator[_Step]:
    """Each step's opening, its deltas, and whether it is closed although the answer is not."""
    calls = all_calls(turn)
    for block in thinking_blocks(turn):
        yield {"type": "thought"}, list(_thought(block)), bool(block.get("signature") or turn.text or calls)
    if turn.text:
        yield {"type": "model_output"}, [{"type": "text", "text": turn.text}], bool(calls)
    for call in calls:
        step = {"type": "function_call", "id": call.id, "name": call.name, "arguments": {}}
        yield step, [{"type": "arguments_delta", "arguments": call.arguments}], isinstance(call, ToolCall)


def _thought(block: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if block["thinking"]:
        yield {"type": "thought_summary", "content": {"type": "text", "text": block["thinking"]}}
    if block.get("signature"):
        yield {"type": "thought_signature", "signature": block["signature"]}


def _event(kind: str, **fields: Any) -> bytes:
    return named_sse(kind, {"event_type": kind, **fields})
