"""An answer in the shape of OpenAI Chat Completions, streamed or whole."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

from .answer import Answer, Reasoning, Refusal, ServerTool, Text, Tool
from .render_options import RenderOptions, sse

_FINISH = {
    "end_turn": "stop",
    "max_tokens": "length",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "content_filter": "content_filter",
    "refusal": "stop",
    "pause_turn": "stop",
}
_FIELD: dict[type, str] = {Text: "content", Refusal: "refusal", Reasoning: "reasoning_content"}


def render_chat(answer: Answer, options: RenderOptions) -> list[bytes]:
    """The events of a streamed reply; several choices alternate chunk by chunk."""
    choices = [
        list(_choice_chunks(each, index, options)) for index, each in enumerate((answer, *options.others))
    ]
    chunks = [chunk for row in zip_longest(*choices) for chunk in row if chunk is not None]
    if options.azure:
        chunks = [_azure_preamble(options), *chunks, _azure_late_filter(options)]
    if options.include_usage:
        chunks = [{**chunk, "usage": None} for chunk in chunks]
        chunks.append(_chunk(options, [], usage=usage(answer, options)))
    events: list[bytes] = []
    for number, chunk in enumerate(chunks, 1):
        if options.ping_every and number % options.ping_every == 0:
            events.append(f": keep-alive{options.line_end * 2}".encode())
        events.append(sse(chunk, options))
    return [*events, sse("[DONE]", options)]


def usage(answer: Answer, options: RenderOptions) -> dict[str, Any]:
    """The usage object: pieces are tokens."""
    output = sum(each.piece_count for each in (answer, *options.others))
    return {
        "prompt_tokens": options.input_tokens,
        "completion_tokens": output,
        "total_tokens": options.input_tokens + output,
        "prompt_tokens_details": {"cached_tokens": options.cache_read_tokens},
    }


def chat_body(answer: Answer, options: RenderOptions) -> dict[str, Any]:
    """The reply to a request that did not ask for a stream."""
    return {
        "id": f"chatcmpl-{options.reply_id}",
        "object": "chat.completion",
        "created": options.created,
        "model": options.model,
        "choices": [
            _whole_choice(each, index, options) for index, each in enumerate((answer, *options.others))
        ],
        "usage": usage(answer, options),
    }


def _whole_choice(answer: Answer, index: int, options: RenderOptions) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": None, "refusal": None}
    for part in answer.parts:
        if isinstance(part, Tool):
            calls = message.setdefault("tool_calls", [])
            function = {"name": part.name, "arguments": "".join(part.pieces)}
            calls.append(
                {"id": _call_id(part, len(calls), options), "type": "function", "function": function}
            )
        elif name := _FIELD.get(type(part)):
            message[name] = (message.get(name) or "") + "".join(part.pieces)
    return {
        "index": index,
        "message": message,
        "logprobs": None,
        "finish_reason": _FINISH[answer.stop_reason],
    }


def _choice_chunks(answer: Answer, index: int, options: RenderOptions) -> Iterator[dict[str, Any]]:
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": "", "refusal": None}]
    calls = 0
    for part in answer.parts:
        if isinstance(part, Tool):
            deltas.extend(_tool_deltas(part, calls, options))
            calls += 1
        elif isinstance(part, ServerTool):
            raise TypeError("Chat Completions has no form for server-side tools")
        else:
            deltas.extend({_FIELD[type(part)]: piece} for piece in part.pieces)
    for delta in deltas:
        yield _chunk(options, [_choice(index, delta, None)])
    yield _chunk(options, [_choice(index, {}, _FINISH[answer.stop_reason])])


def _tool_deltas(part: Tool, position: int, options: RenderOptions) -> Iterator[dict[str, Any]]:
    opening = {"name": part.name, "arguments": ""}
    first = {
        "index": position,
        "id": _call_id(part, position, options),
        "type": "function",
        "function": opening,
    }
    yield {"tool_calls": [first]}
    for piece in part.pieces:
        yield {"tool_calls": [{"index": position, "function": {"arguments": piece}}]}


def _call_id(part: Tool, position: int, options: RenderOptions) -> str:
    return part.id or f"call_{options.reply_id}_{position}"


def _choice(index: int, delta: dict[str, Any], finish_reason: str | None) -> dict[str, Any]:
    return {"index": index, "delta": delta, "logprobs": None, "finish_reason": finish_reason}


def _chunk(options: RenderOptions, choices: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{options.reply_id}",
        "object": "chat.completion.chunk",
        "created": options.created,
        "model": options.model,
        "system_fingerprint": "fp_test",
        "choices": choices,
        **more,
    }


def _azure_preamble(options: RenderOptions) -> dict[str, Any]:
    verdict = {"hate": {"filtered": False, "severity": "safe"}}
    empty = {**_chunk(options, []), "id": "", "created": 0, "model": "", "object": ""}
    return {**empty, "prompt_filter_results": [{"prompt_index": 0, "content_filter_results": verdict}]}


def _azure_late_filter(options: RenderOptions) -> dict[str, Any]:
    verdict = {"hate": {"filtered": False, "severity": "safe"}}
    offsets = {"check_offset": 0, "start_offset": 0, "end_offset": 0}
    choice = {
        "index": 0,
        "finish_reason": None,
        "content_filter_results": verdict,
        "content_filter_offsets": offsets,
    }
    return {**_chunk(options, [choice]), "id": "", "created": 0, "model": "", "object": ""}
