"""A stored turn as events of OpenAI Responses. They have no sequence numbers: those of a server mean more."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import orjson

from ..types import PartialToolCall, Snapshot, ToolCall

_COMPLETED: Final = "completed"


def responses(turn: Snapshot) -> Iterator[bytes]:
    """The events; what the cut left open stays open."""
    yield _event("response.created", response=_response(turn, "in_progress"))
    index, behind = 0, bool(turn.completed_tool_calls or turn.in_flight_tools or turn.raw_stop_reason)
    if turn.reasoning:
        yield from _reasoning(index, turn.reasoning)
        index += 1
    if turn.text:
        yield from _message(index, "output_text", "text", turn.text, closes=behind or bool(turn.refusal))
        index += 1
    if turn.refusal:
        yield from _message(index, "refusal", "refusal", turn.refusal, closes=behind)
        index += 1
    for call in turn.completed_tool_calls:
        yield from _call(index, call, closes=True)
        index += 1
    for partial in turn.in_flight_tools:
        yield from _call(index, partial, closes=False)
        index += 1
    if turn.raw_stop_reason is not None:
        yield _end(turn, turn.raw_stop_reason)


def _reasoning(index: int, text: str) -> Iterator[bytes]:
    item = {"id": f"rs_{index}", "type": "reasoning", "summary": []}
    yield _event("response.output_item.added", output_index=index, item=item)
    place = {"item_id": item["id"], "output_index": index, "summary_index": 0}
    yield _event("response.reasoning_summary_text.delta", **place, delta=text)
    whole = {**item, "summary": [{"type": "summary_text", "text": text}]}
    yield _event("response.output_item.done", output_index=index, item=whole)


def _message(index: int, kind: str, member: str, text: str, *, closes: bool) -> Iterator[bytes]:
    item = {
        "id": f"msg_{index}",
        "type": "message",
        "role": "assistant",
        "status": "in_progress",
        "content": [],
    }
    yield _event("response.output_item.added", output_index=index, item=item)
    place = {"item_id": item["id"], "output_index": index, "content_index": 0}
    yield _event("response.content_part.added", **place, part={"type": kind, member: ""})
    yield _event(f"response.{kind}.delta", **place, delta=text)
    if closes:
        part = {"type": kind, member: text}
        yield _event(f"response.{kind}.done", **place, **{member: text})
        yield _event("response.content_part.done", **place, part=part)
        whole = {**item, "status": _COMPLETED, "content": [part]}
        yield _event("response.output_item.done", output_index=index, item=whole)


def _call(index: int, call: ToolCall | PartialToolCall, *, closes: bool) -> Iterator[bytes]:
    names = {"id": f"fc_{index}", "type": "function_call", "call_id": call.id, "name": call.name}
    item = {**names, "status": "in_progress", "arguments": ""}
    yield _event("response.output_item.added", output_index=index, item=item)
    place = {"item_id": item["id"], "output_index": index}
    yield _event("response.function_call_arguments.delta", **place, delta=call.arguments)
    if closes:
        yield _event("response.function_call_arguments.done", **place, arguments=call.arguments)
        whole = {**item, "status": _COMPLETED, "arguments": call.arguments}
        yield _event("response.output_item.done", output_index=index, item=whole)


def _end(turn: Snapshot, reason: str) -> bytes:
    usage = {"input_tokens": turn.usage.input_tokens or 0, "output_tokens": turn.usage.output_tokens or 0}
    if reason == _COMPLETED:
        return _event("response.completed", response=_response(turn, _COMPLETED, usage=usage))
    details = {"reason": reason}
    ended = _response(turn, "incomplete", usage=usage, incomplete_details=details)
    return _event("response.incomplete", response=ended)


def _response(turn: Snapshot, status: str, **fields: Any) -> dict[str, Any]:
    return {"id": turn.response_id, "model": turn.model, "status": status, "output": [], **fields}


def _event(kind: str, **fields: Any) -> bytes:
    return b"event: " + kind.encode() + b"\ndata: " + orjson.dumps({"type": kind, **fields}) + b"\n\n"
