"""An answer in the shape of Gemini Interactions, streamed or whole."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from .answer import Answer, Part, Reasoning, ServerTool, Tool, signature_of
from .render_options import RenderOptions, sse

_STATUS = {"max_tokens": "incomplete", "tool_use": "requires_action"}
_Event = dict[str, Any]


def render_interactions(answer: Answer, options: RenderOptions) -> list[bytes]:
    """The events of a streamed reply, each with an id, and `[DONE]`."""
    events: list[bytes] = []
    for number, data in enumerate(_events(answer, options), 1):
        if options.ping_every and number % options.ping_every == 0:
            events.append(b": keep-alive\n\n")
        told = {**data, "event_id": f"{options.reply_id}-{number}"}
        events.append(sse(told, options, event=data["event_type"]))
    return [*events, sse("[DONE]", options, event="done")]


def interactions_body(answer: Answer, options: RenderOptions) -> dict[str, Any]:
    """The reply to a request that did not ask for a stream, and the object of the last event."""
    return {
        **_head(options, _STATUS.get(answer.stop_reason, "completed")),
        "steps": [_whole(part, index, options) for index, part in enumerate(answer.parts)],
        "usage": {
            "total_input_tokens": options.input_tokens,
            "total_output_tokens": answer.piece_count,
            "total_tokens": options.input_tokens + answer.piece_count,
        },
    }


def _head(options: RenderOptions, status: str) -> dict[str, Any]:
    return {
        "id": f"v1_{options.reply_id}",
        "status": status,
        "object": "interaction",
        "model": options.model,
    }


def _events(answer: Answer, options: RenderOptions) -> Iterator[_Event]:
    opening = _head(options, "in_progress")
    yield {"event_type": "interaction.created", "interaction": opening}
    update = {"interaction_id": opening["id"], "status": "in_progress"}
    yield {"event_type": "interaction.status_update", **update}
    for index, part in enumerate(answer.parts):
        yield {"event_type": "step.start", "index": index, "step": _opening(part, index, options)}
        for delta in _deltas(part):
            yield {"event_type": "step.delta", "index": index, "delta": delta}
        yield {"event_type": "step.stop", "index": index}
    whole = interactions_body(answer, options)
    del whole["steps"]
    yield {"event_type": "interaction.completed", "interaction": whole}


def _opening(part: Part, index: int, options: RenderOptions) -> dict[str, Any]:
    if isinstance(part, Reasoning):
        return {"type": "thought"}
    if isinstance(part, Tool):
        call_id = part.id or f"call_{options.reply_id}_{index}"
        return {"type": "function_call", "id": call_id, "name": part.name, "arguments": {}}
    if isinstance(part, ServerTool):
        return {"type": f"{part.name}_call", "id": part.id}
    return {"type": "model_output"}


def _deltas(part: Part) -> Iterator[dict[str, Any]]:
    if isinstance(part, Reasoning):
        for piece in part.pieces:
            yield {"type": "thought_summary", "content": {"type": "text", "text": piece}}
        if part.signed:
            yield {"type": "thought_signature", "signature": signature_of("".join(part.pieces))}
    elif isinstance(part, Tool):
        yield from ({"type": "arguments_delta", "arguments": piece} for piece in part.pieces)
    elif not isinstance(part, ServerTool):
        yield from ({"type": "text", "text": piece} for piece in part.pieces)


def _whole(part: Part, index: int, options: RenderOptions) -> dict[str, Any]:
    said = "".join(part.pieces)
    if isinstance(part, Tool):
        return {**_opening(part, index, options), "arguments": json.loads(said or "{}")}
    if isinstance(part, ServerTool):
        return _opening(part, index, options)
    if isinstance(part, Reasoning):
        signed = {"signature": signature_of(said)} if part.signed else {}
        return {"type": "thought", "summary": [{"type": "text", "text": said}], **signed}
    return {"type": "model_output", "content": [{"type": "text", "text": said}]}
