"""An answer in the shape of Anthropic Messages, streamed or whole."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from .answer import Answer, Part, Reasoning, ServerTool, Tool, signature_of
from .render_options import RenderOptions, sse

_STOP = {"content_filter": "refusal"}
_PING = {"type": "ping"}


def render_anthropic(answer: Answer, options: RenderOptions) -> list[bytes]:
    """The events of a streamed reply. A ping follows the first block's opening, as in real streams."""
    events: list[bytes] = []
    opened = False
    for number, data in enumerate(_events(answer, options), 1):
        if options.ping_every and number % options.ping_every == 0:
            events.append(_event(_PING, options))
        events.append(_event(data, options))
        if data["type"] == "content_block_start" and not opened:
            events.append(_event(_PING, options))
            opened = True
    return events


def anthropic_body(answer: Answer, options: RenderOptions) -> dict[str, Any]:
    """The reply to a request that did not ask for a stream."""
    content = [
        block for index, part in enumerate(answer.parts) for block in _whole_blocks(part, index, options)
    ]
    return {
        **_message(options, output_tokens=answer.piece_count),
        "content": content,
        "stop_reason": _STOP.get(answer.stop_reason, answer.stop_reason),
        "stop_sequence": answer.stop_sequence,
    }


def _event(data: dict[str, Any], options: RenderOptions) -> bytes:
    return sse(data, options, event=data["type"])


def _events(answer: Answer, options: RenderOptions) -> Iterator[dict[str, Any]]:
    yield {"type": "message_start", "message": _message(options, output_tokens=1)}
    index = 0
    for position, part in enumerate(answer.parts):
        opening = _opening(part, position, options)
        yield {"type": "content_block_start", "index": index, "content_block": opening}
        yield from (
            {"type": "content_block_delta", "index": index, "delta": delta} for delta in _deltas(part)
        )
        yield {"type": "content_block_stop", "index": index}
        index += 1
        if isinstance(part, ServerTool) and part.result is not None:
            yield {"type": "content_block_start", "index": index, "content_block": _result(part)}
            yield {"type": "content_block_stop", "index": index}
            index += 1
    stop = _STOP.get(answer.stop_reason, answer.stop_reason)
    delta = {"stop_reason": stop, "stop_sequence": answer.stop_sequence}
    yield {"type": "message_delta", "delta": delta, "usage": _usage(options, answer.piece_count)}
    yield {"type": "message_stop"}


def _message(options: RenderOptions, *, output_tokens: int) -> dict[str, Any]:
    return {
        "id": f"msg_{options.reply_id}",
        "type": "message",
        "role": "assistant",
        "model": options.model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": _usage(options, output_tokens),
    }


def _usage(options: RenderOptions, output_tokens: int) -> dict[str, int]:
    return {
        "input_tokens": options.input_tokens,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": options.cache_read_tokens,
        "output_tokens": output_tokens,
    }


def _opening(part: Part, position: int, options: RenderOptions) -> dict[str, Any]:
    if isinstance(part, Reasoning):
        return {"type": "thinking", "thinking": "", "signature": ""}
    if isinstance(part, Tool):
        call_id = part.id or f"toolu_{options.reply_id}_{position}"
        return {"type": "tool_use", "id": call_id, "name": part.name, "input": {}}
    if isinstance(part, ServerTool):
        return {"type": "server_tool_use", "id": part.id, "name": part.name, "input": {}}
    return {"type": "text", "text": ""}


def _deltas(part: Part) -> Iterator[dict[str, Any]]:
    if isinstance(part, Reasoning):
        yield from ({"type": "thinking_delta", "thinking": piece} for piece in part.pieces)
        if part.signed:
            yield {"type": "signature_delta", "signature": signature_of("".join(part.pieces))}
    elif isinstance(part, Tool | ServerTool):
        # Anthropic opens every call with an empty fragment, which is all that a call without arguments gets.
        yield from ({"type": "input_json_delta", "partial_json": piece} for piece in ("", *part.pieces))
    else:
        yield from ({"type": "text_delta", "text": piece} for piece in part.pieces)


def _result(part: ServerTool) -> dict[str, Any]:
    return {"type": part.result_type, "tool_use_id": part.id, "content": part.result}


def _whole_blocks(part: Part, position: int, options: RenderOptions) -> Iterator[dict[str, Any]]:
    block = _opening(part, position, options)
    said = "".join(part.pieces)
    if isinstance(part, Reasoning):
        yield {**block, "thinking": said, "signature": signature_of(said) if part.signed else ""}
    elif isinstance(part, Tool | ServerTool):
        yield {**block, "input": json.loads(said or "{}")}
    else:
        yield {**block, "text": said}
    if isinstance(part, ServerTool) and part.result is not None:
        yield _result(part)
