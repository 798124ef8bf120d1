"""A stored turn as bytes of its dialect, so that a fresh core knows it as if it had just been received.

The core has no other way in, on purpose: whatever it holds, it has read from a stream.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from ..recovery.continuation.facts import Dialect
from ..types import Snapshot
from .replaying_blocks import bedrock, cohere, ollama
from .replaying_google import gemini, interactions
from .replaying_parts import calls_in_a_row, named_sse, sse, thinking_blocks
from .replaying_responses import responses


def replay(dialect: Dialect, turn: Snapshot) -> bytes:
    """The events that bring a fresh splice to where `turn` stands."""
    return b"".join(_WRITERS[dialect](turn))


def _chat(turn: Snapshot) -> Iterator[bytes]:
    yield _chunk(turn, {"role": "assistant", "content": ""})
    if turn.reasoning:
        yield _chunk(turn, {"reasoning_content": turn.reasoning})
    if turn.refusal:
        yield _chunk(turn, {"refusal": turn.refusal})
    if turn.text:
        yield _chunk(turn, {"content": turn.text})
    for index, call in enumerate(calls_in_a_row(turn)):
        function = {"name": call.name, "arguments": call.arguments}
        yield _chunk(
            turn, {"tool_calls": [{"index": index, "id": call.id, "type": "function", "function": function}]}
        )
    if turn.raw_stop_reason is not None:
        yield _chunk(turn, {}, turn.raw_stop_reason)
    usage = turn.usage
    if usage.input_tokens is not None or usage.output_tokens is not None:
        counters = {"prompt_tokens": usage.input_tokens or 0, "completion_tokens": usage.output_tokens or 0}
        yield sse({**_envelope(turn), "choices": [], "usage": counters})


def _chunk(turn: Snapshot, delta: dict[str, Any], finish_reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return sse({**_envelope(turn), "choices": [choice]})


def _envelope(turn: Snapshot) -> dict[str, Any]:
    return {"id": turn.response_id, "object": "chat.completion.chunk", "created": 0, "model": turn.model}


def _anthropic(turn: Snapshot) -> Iterator[bytes]:
    usage = {
        "input_tokens": turn.usage.input_tokens,
        "cache_read_input_tokens": turn.usage.cache_read_tokens,
        "cache_creation_input_tokens": turn.usage.cache_write_tokens,
        "output_tokens": turn.usage.output_tokens,
    }
    known = {name: number for name, number in usage.items() if number is not None}
    message = {"id": turn.response_id, "type": "message", "role": "assistant", "model": turn.model}
    yield _event("message_start", message={**message, "content": [], "stop_reason": None, "usage": known})
    blocks = list(_blocks(turn))
    calls_are_whole = bool(turn.completed_tool_calls) and not turn.in_flight_tools
    open_at_the_end = turn.raw_stop_reason is None and not calls_are_whole
    for index, (start, delta) in enumerate(blocks):
        yield _event("content_block_start", index=index, content_block=start)
        for piece in delta:
            yield _event("content_block_delta", index=index, delta=piece)
        if index < len(blocks) - 1 or not open_at_the_end:
            yield _event("content_block_stop", index=index)
    if turn.raw_stop_reason is not None:
        output = {"output_tokens": turn.usage.output_tokens or 0}
        stop = {"stop_reason": turn.raw_stop_reason, "stop_sequence": None}
        yield _event("message_delta", delta=stop, usage=output)


def _blocks(turn: Snapshot) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """The content blocks as their start and their deltas; calls come last, the unfinished one behind all."""
    for block in thinking_blocks(turn):
        yield _thinking(block) if block["type"] == "thinking" else (block, [])
    if turn.text:
        yield {"type": "text", "text": ""}, [{"type": "text_delta", "text": turn.text}]
    for call in calls_in_a_row(turn):
        start = {"type": "tool_use", "id": call.id, "name": call.name, "input": {}}
        yield start, [{"type": "input_json_delta", "partial_json": call.arguments}]


def _thinking(block: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    thought, signature = block["thinking"], block.get("signature", "")
    deltas = [{"type": "thinking_delta", "thinking": thought}] if thought else []
    if signature:
        deltas.append({"type": "signature_delta", "signature": signature})
    return {"type": "thinking", "thinking": "", "signature": ""}, deltas


def _event(name: str, **fields: Any) -> bytes:
    return named_sse(name, {"type": name, **fields})


_WRITERS: Final[dict[Dialect, Callable[[Snapshot], Iterator[bytes]]]] = {
    "openai-chat": _chat,
    "openai-responses": responses,
    "anthropic": _anthropic,
    "gemini": gemini,
    "gemini-interactions": interactions,
    "ollama": ollama,
    "cohere": cohere,
    "bedrock": bedrock,
}
