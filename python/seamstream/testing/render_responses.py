"""An answer in the shape of OpenAI Responses, streamed or whole."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .answer import Answer, Part, Reasoning, Refusal, ServerTool, Text, Tool
from .render_options import RenderOptions, sse

_INCOMPLETE = {"max_tokens": "max_output_tokens", "content_filter": "content_filter"}
_Event = dict[str, Any]


def render_responses(answer: Answer, options: RenderOptions) -> list[bytes]:
    """The events of a streamed reply, numbered from 0."""
    events: list[bytes] = []
    for number, data in enumerate(_events(answer, options)):
        if options.ping_every and (number + 1) % options.ping_every == 0:
            events.append(b": keep-alive\n\n")
        numbered = {"type": data["type"], "sequence_number": number, **data}
        events.append(sse(numbered, options, event=data["type"]))
    return events


def responses_body(answer: Answer, options: RenderOptions) -> dict[str, Any]:
    """The reply to a request that did not ask for a stream, and the object of the last event."""
    items = [_done(part, index, options) for index, part in enumerate(answer.parts)]
    reason = _INCOMPLETE.get(answer.stop_reason)
    return {
        **_response(options, "completed" if reason is None else "incomplete"),
        "incomplete_details": None if reason is None else {"reason": reason},
        "output": items,
        "usage": {
            "input_tokens": options.input_tokens,
            "input_tokens_details": {"cached_tokens": options.cache_read_tokens},
            "output_tokens": answer.piece_count,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": options.input_tokens + answer.piece_count,
        },
    }


def _response(options: RenderOptions, status: str) -> dict[str, Any]:
    return {
        "id": f"resp_{options.reply_id}",
        "object": "response",
        "created_at": options.created,
        "status": status,
        "error": None,
        "incomplete_details": None,
        "model": options.model,
        "output": [],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": None,
    }


def _events(answer: Answer, options: RenderOptions) -> Iterator[_Event]:
    opening = _response(options, "in_progress")
    yield {"type": "response.created", "response": opening}
    yield {"type": "response.in_progress", "response": opening}
    for index, part in enumerate(answer.parts):
        added = _opening(part, index, options)
        yield {"type": "response.output_item.added", "output_index": index, "item": added}
        place = {"item_id": added["id"], "output_index": index}
        yield from _inside(part, place)
        done = _done(part, index, options)
        yield {"type": "response.output_item.done", "output_index": index, "item": done}
    whole = responses_body(answer, options)
    yield {"type": f"response.{whole['status']}", "response": whole}


def _inside(part: Part, place: dict[str, Any]) -> Iterator[_Event]:
    """What comes between an item's two events."""
    said = "".join(part.pieces)
    if isinstance(part, Text | Refusal):
        kind = "output_text" if isinstance(part, Text) else "refusal"
        place = {**place, "content_index": 0}
        extra: _Event = {"logprobs": []} if kind == "output_text" else {}
        yield {"type": "response.content_part.added", **place, "part": _content(part, "")}
        yield from (
            {"type": f"response.{kind}.delta", **place, "delta": piece, **extra} for piece in part.pieces
        )
        member = "text" if kind == "output_text" else "refusal"
        yield {"type": f"response.{kind}.done", **place, member: said, **extra}
        yield {"type": "response.content_part.done", **place, "part": _content(part, said)}
    elif isinstance(part, Reasoning):
        kind, place = "response.reasoning_summary", {**place, "summary_index": 0}
        yield {"type": f"{kind}_part.added", **place, "part": {"type": "summary_text", "text": ""}}
        yield from ({"type": f"{kind}_text.delta", **place, "delta": piece} for piece in part.pieces)
        yield {"type": f"{kind}_text.done", **place, "text": said}
        yield {"type": f"{kind}_part.done", **place, "part": {"type": "summary_text", "text": said}}
    elif isinstance(part, Tool):
        kind = "response.function_call_arguments"
        yield from ({"type": f"{kind}.delta", **place, "delta": piece} for piece in part.pieces)
        yield {"type": f"{kind}.done", **place, "arguments": said or "{}"}
    else:
        yield from ({"type": f"response.{part.name}_call.{stage}", **place} for stage in _SERVER_STAGES)


_SERVER_STAGES = ("in_progress", "searching", "completed")


def _content(part: Text | Refusal, said: str) -> dict[str, Any]:
    if isinstance(part, Refusal):
        return {"type": "refusal", "refusal": said}
    return {"type": "output_text", "annotations": [], "logprobs": [], "text": said}


def _opening(part: Part, index: int, options: RenderOptions) -> dict[str, Any]:
    number = f"{options.reply_id}_{index}"
    if isinstance(part, Reasoning):
        return {"id": f"rs_{number}", "type": "reasoning", "summary": []}
    if isinstance(part, Tool):
        return {
            "id": f"fc_{number}",
            "type": "function_call",
            "status": "in_progress",
            "arguments": "",
            "call_id": part.id or f"call_{number}",
            "name": part.name,
        }
    if isinstance(part, ServerTool):
        return {"id": f"ws_{number}", "type": f"{part.name}_call", "status": "in_progress"}
    return {
        "id": f"msg_{number}",
        "type": "message",
        "status": "in_progress",
        "content": [],
        "role": "assistant",
    }


def _done(part: Part, index: int, options: RenderOptions) -> dict[str, Any]:
    item, said = _opening(part, index, options), "".join(part.pieces)
    if isinstance(part, Reasoning):
        return {**item, "summary": [{"type": "summary_text", "text": said}]}
    if isinstance(part, Tool):
        return {**item, "status": "completed", "arguments": said or "{}"}
    if isinstance(part, ServerTool):
        return {**item, "status": "completed", "action": {"type": "search", "query": said}}
    return {**item, "status": "completed", "content": [_content(part, said)]}
