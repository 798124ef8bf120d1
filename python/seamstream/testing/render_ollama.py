"""An answer in the shape of Ollama's own protocol, streamed as lines or whole."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from .answer import Answer, Reasoning, ServerTool, Tool
from .render_options import RenderOptions, compact

_DONE = {"max_tokens": "length"}


def render_ollama(answer: Answer, options: RenderOptions) -> list[bytes]:
    """The lines of a streamed reply to `/api/chat`."""
    lines = [_line(options, message=message, done=False) for message in _messages(answer)]
    last = _line(options, message=_message(""), done=True, done_reason=_done_reason(answer))
    last |= _counters(answer, options)
    return [f"{compact(line, ascii_only=options.ascii_json)}\n".encode() for line in [*lines, last]]


def ollama_body(answer: Answer, options: RenderOptions) -> dict[str, Any]:
    """The reply to a request that did not want a stream."""
    whole = _message("")
    for message in _messages(answer):
        whole["content"] += message["content"]
        if "thinking" in message:
            whole["thinking"] = whole.get("thinking", "") + message["thinking"]
        whole.setdefault("tool_calls", []).extend(message.get("tool_calls", ()))
    line = _line(options, message=whole, done=True, done_reason=_done_reason(answer))
    return line | _counters(answer, options)


def _messages(answer: Answer) -> Iterator[dict[str, Any]]:
    for part in answer.parts:
        if isinstance(part, Tool):
            arguments = json.loads("".join(part.pieces) or "{}")
            yield {
                **_message(""),
                "tool_calls": [{"function": {"name": part.name, "arguments": arguments}}],
            }
        elif isinstance(part, ServerTool):
            raise TypeError("Ollama has no form for server-side tools")
        elif isinstance(part, Reasoning):
            yield from ({**_message(""), "thinking": piece} for piece in part.pieces)
        else:
            yield from map(_message, part.pieces)


def _message(content: str) -> dict[str, Any]:
    return {"role": "assistant", "content": content}


def _line(options: RenderOptions, **members: Any) -> dict[str, Any]:
    if options.generates:
        message = members.pop("message")
        members = {"response": message["content"], **members}
    return {"model": options.model, "created_at": "2026-01-01T00:00:00Z", **members}


def _done_reason(answer: Answer) -> str:
    return _DONE.get(answer.stop_reason, "stop")


def _counters(answer: Answer, options: RenderOptions) -> dict[str, Any]:
    counts = {"prompt_eval_count": options.input_tokens, "eval_count": answer.piece_count}
    return {"total_duration": 1, **counts}
