"""A stored turn as events of Cohere's v2 Chat, as frames of Bedrock's ConverseStream, as lines of Ollama."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from .._core import bedrock_frame
from ..types import Snapshot, ToolCall
from .replaying_parts import all_calls, counters, named_sse, thinking_blocks


def cohere(turn: Snapshot) -> Iterator[bytes]:
    """The events. A plan is told as thinking: what has become of the two is the same."""
    yield named_sse("message-start", {"type": "message-start", "id": turn.response_id, "delta": {}})
    said = [("thinking", turn.reasoning), ("text", turn.text)]
    calls = all_calls(turn)
    for index, (kind, text) in enumerate((kind, text) for kind, text in said if text):
        yield _cohere("content-start", index, content={"type": kind, kind: ""})
        yield _cohere("content-delta", index, content={kind: text})
        if calls or (kind == "thinking" and turn.text) or turn.raw_stop_reason is not None:
            yield _cohere("content-end", index)
    for index, call in enumerate(calls):
        function = {"name": call.name, "arguments": call.arguments}
        opening = {"id": call.id, "type": "function", "function": function}
        yield _cohere("tool-call-start", index, tool_calls=opening)
        if isinstance(call, ToolCall):
            yield _cohere("tool-call-end", index)
    if turn.raw_stop_reason is not None:
        usage = {"tokens": counters(turn, "input_tokens", "output_tokens")}
        delta = {"finish_reason": turn.raw_stop_reason, "usage": usage}
        yield named_sse("message-end", {"type": "message-end", "delta": delta})


def _cohere(kind: str, index: int, **message: Any) -> bytes:
    return named_sse(kind, {"type": kind, "index": index, "delta": {"message": message}})


def bedrock(turn: Snapshot) -> Iterator[bytes]:
    """The frames; what the cut left open stays open."""
    yield _frame("messageStart", role="assistant")
    for index, (tool, deltas, whole) in enumerate(_blocks(turn)):
        if tool is not None:
            yield _frame("contentBlockStart", contentBlockIndex=index, start={"toolUse": tool})
        for delta in deltas:
            yield _frame("contentBlockDelta", contentBlockIndex=index, delta=delta)
        if whole or turn.raw_stop_reason is not None:
            yield _frame("contentBlockStop", contentBlockIndex=index)
    if turn.raw_stop_reason is not None:
        yield _frame("messageStop", stopReason=turn.raw_stop_reason)
        usage = counters(turn, "inputTokens", "outputTokens")
        if usage:
            yield _frame("metadata", usage=usage)


_Block = tuple[dict[str, str] | None, list[dict[str, Any]], bool]


def _blocks(turn: Snapshot) -> Iterator[_Block]:
    """The tool of each block, its deltas, and whether it is closed although the answer is not."""
    calls = all_calls(turn)
    for block in thinking_blocks(turn):
        parts = [{name: block[key]} for name, key in _REASONING if block.get(key)]
        yield None, [{"reasoningContent": part} for part in parts], bool(turn.text or calls)
    if turn.text:
        yield None, [{"text": turn.text}], bool(calls)
    for call in calls:
        tool = {"toolUseId": call.id, "name": call.name}
        yield tool, [{"toolUse": {"input": call.arguments}}], isinstance(call, ToolCall)


_REASONING = (("text", "thinking"), ("signature", "signature"))


def _frame(kind: str, **payload: Any) -> bytes:
    return bedrock_frame(kind, orjson.dumps(payload))


def ollama(turn: Snapshot) -> Iterator[bytes]:
    """The lines. Calls come whole here, so none is ever unfinished."""
    if turn.reasoning:
        yield _line(turn, {"thinking": turn.reasoning})
    if turn.text:
        yield _line(turn, {"content": turn.text})
    for call in turn.completed_tool_calls:
        function = {"name": call.name, "arguments": orjson.Fragment(call.arguments)}
        yield _line(turn, {"tool_calls": [{"id": call.id, "function": function}]})
    if turn.raw_stop_reason is not None:
        counts = counters(turn, "prompt_eval_count", "eval_count")
        yield _line(turn, {}, done=True, done_reason=turn.raw_stop_reason, **counts)


def _line(turn: Snapshot, said: dict[str, Any], **fields: Any) -> bytes:
    message = {"role": "assistant", "content": "", **said}
    return orjson.dumps({"model": turn.model, "message": message, "done": False, **fields}) + b"\n"
