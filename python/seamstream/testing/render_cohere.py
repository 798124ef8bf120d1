"""An answer in the shape of Cohere's v2 Chat, streamed or whole."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .answer import Answer, Part, Reasoning, ServerTool, Tool
from .render_options import RenderOptions, sse

_FINISH = {
    "max_tokens": "MAX_TOKENS",
    "stop_sequence": "STOP_SEQUENCE",
    "tool_use": "TOOL_CALL",
}


def render_cohere(answer: Answer, options: RenderOptions) -> list[bytes]:
    """The events of a streamed reply."""
    envelope = {"role": "assistant", "content": [], "tool_plan": "", "tool_calls": [], "citations": []}
    events = [{"id": options.reply_id, **_event("message-start", envelope)}]
    contents = calls = 0
    for part in answer.parts:
        if isinstance(part, Tool):
            events += _call(part, calls, options)
            calls += 1
        elif isinstance(part, ServerTool):
            raise TypeError("Cohere has no form for server-side tools")
        else:
            events += _content(part, contents)
            contents += 1
    end = {"finish_reason": _finish(answer), "usage": _usage(answer, options)}
    events.append({"type": "message-end", "delta": end})
    return [sse(event, options, event=event["type"]) for event in events]


def cohere_body(answer: Answer, options: RenderOptions) -> dict[str, Any]:
    """The reply to a request that did not ask for a stream."""
    message: dict[str, Any] = {"role": "assistant", "content": []}
    for part in answer.parts:
        if isinstance(part, Tool):
            calls = message.setdefault("tool_calls", [])
            calls.append(_function(part, "".join(part.pieces), len(calls), options))
        else:
            kind = _kind(part)
            message["content"].append({"type": kind, kind: "".join(part.pieces)})
    return {
        "id": options.reply_id,
        "message": message,
        "finish_reason": _finish(answer),
        "usage": _usage(answer, options),
    }


def _content(part: Part, index: int) -> Iterator[dict[str, Any]]:
    kind = _kind(part)
    yield _event("content-start", {"content": {"type": kind, kind: ""}}, index)
    for piece in part.pieces:
        yield _event("content-delta", {"content": {kind: piece}}, index)
    yield {"type": "content-end", "index": index}


def _call(part: Tool, index: int, options: RenderOptions) -> Iterator[dict[str, Any]]:
    yield _event("tool-call-start", {"tool_calls": _function(part, "", index, options)}, index)
    for piece in part.pieces:
        yield _event("tool-call-delta", {"tool_calls": {"function": {"arguments": piece}}}, index)
    yield {"type": "tool-call-end", "index": index}


def _function(part: Tool, arguments: str, index: int, options: RenderOptions) -> dict[str, Any]:
    call_id = part.id or f"{part.name}_{options.reply_id}_{index}"
    return {"id": call_id, "type": "function", "function": {"name": part.name, "arguments": arguments}}


def _event(kind: str, message: dict[str, Any], index: int | None = None) -> dict[str, Any]:
    numbered = {} if index is None else {"index": index}
    return {"type": kind, **numbered, "delta": {"message": message}}


def _kind(part: Part) -> str:
    return "thinking" if isinstance(part, Reasoning) else "text"


def _finish(answer: Answer) -> str:
    return _FINISH.get(answer.stop_reason, "COMPLETE")


def _usage(answer: Answer, options: RenderOptions) -> dict[str, Any]:
    counts = {"input_tokens": options.input_tokens, "output_tokens": answer.piece_count}
    return {"billed_units": counts, "tokens": counts}
