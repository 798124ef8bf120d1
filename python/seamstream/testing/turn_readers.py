"""How each dialect's events make up a turn, read by code of its own and not by seamstream's core."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from ..recovery.continuation.facts import Dialect
from .render_bedrock import unframe
from .turn_parts import RawCall, ReadTurn, close, grow, put_together

_CHAT_STOP = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
}
_GEMINI_STOP = {"MAX_TOKENS": "max_tokens", "SAFETY": "content_filter"}
_INTERACTIONS_STOP = {
    "completed": "end_turn",
    "requires_action": "tool_use",
    "incomplete": "max_tokens",
}
_COHERE_STOP = {
    "COMPLETE": "end_turn",
    "MAX_TOKENS": "max_tokens",
    "STOP_SEQUENCE": "stop_sequence",
    "TOOL_CALL": "tool_use",
}
_RESPONSES_STOP = {"max_output_tokens": "max_tokens"}


def read_chunk(chunk: dict[str, Any], turn: ReadTurn, raw_calls: dict[int, RawCall], choice: int) -> None:
    for found in chunk.get("choices") or ():
        if found.get("index") != choice:
            continue
        delta = found.get("delta") or {}
        turn.response_ids.add(chunk.get("id", ""))
        turn.text += delta.get("content") or ""
        turn.refusal += delta.get("refusal") or ""
        turn.reasoning += delta.get("reasoning_content") or ""
        for call in delta.get("tool_calls") or ():
            function = call.get("function") or {}
            index = call.get("index", 0)
            close(raw_calls, but=index)
            grow(raw_calls, index, function.get("name") or "", function.get("arguments") or "")
        if found.get("finish_reason"):
            turn.stop = _CHAT_STOP.get(found["finish_reason"], found["finish_reason"])
            turn.ended = True
            close(raw_calls)


def read_candidates(
    chunk: dict[str, Any], turn: ReadTurn, raw_calls: dict[int, RawCall], choice: int
) -> None:
    """Whole calls only: streamed pieces of arguments are no answer of the test model's."""
    for found in chunk.get("candidates") or ():
        if found.get("index", 0) != choice:
            continue
        turn.response_ids.add(chunk.get("responseId", ""))
        for part in (found.get("content") or {}).get("parts") or ():
            if call := part.get("functionCall"):
                grow(raw_calls, len(raw_calls), call["name"], json.dumps(call.get("args") or {}))
                close(raw_calls)
            elif part.get("thought"):
                turn.reasoning += part.get("text") or ""
            else:
                turn.text += part.get("text") or ""
        if reason := found.get("finishReason"):
            ended = "tool_use" if raw_calls else "end_turn"
            turn.stop = ended if reason == "STOP" else _GEMINI_STOP.get(reason, reason)
            turn.ended = True


def _read_step_event(event: dict[str, Any], turn: ReadTurn, raw_calls: dict[int, RawCall]) -> None:
    kind, index, delta = event.get("event_type"), event.get("index", 0), event.get("delta") or {}
    if kind == "interaction.created":
        turn.response_ids.add(event["interaction"]["id"])
    elif kind == "step.start" and event["step"]["type"] == "function_call":
        grow(raw_calls, index, event["step"]["name"], "")
    elif kind == "step.delta":
        turn.text += delta.get("text") or ""
        turn.reasoning += (delta.get("content") or {}).get("text") or ""
        if index in raw_calls:
            grow(raw_calls, index, "", delta.get("arguments") or "")
    elif kind == "step.stop":
        close(raw_calls)
    elif kind == "interaction.completed":
        status = event["interaction"]["status"]
        turn.stop = _INTERACTIONS_STOP.get(status, status)
        turn.ended = True


def _read_event(event: dict[str, Any], turn: ReadTurn, raw_calls: dict[int, RawCall]) -> None:
    kind, index = event.get("type"), event.get("index", 0)
    if kind == "message_start":
        turn.response_ids.add(event["message"]["id"])
    elif kind == "content_block_start":
        block = event["content_block"]
        turn.text += block.get("text") or ""
        if block["type"] == "tool_use":
            grow(raw_calls, index, block["name"], "")
    elif kind == "content_block_delta":
        delta = event["delta"]
        turn.text += delta.get("text") or ""
        turn.reasoning += delta.get("thinking") or ""
        if index in raw_calls:
            grow(raw_calls, index, "", delta.get("partial_json") or "")
    elif kind == "content_block_stop":
        close(raw_calls)
    elif kind == "message_delta":
        turn.stop = event["delta"].get("stop_reason") or turn.stop
    elif kind == "message_stop":
        turn.ended = True


def _read_line(line: dict[str, Any], turn: ReadTurn, raw_calls: dict[int, RawCall]) -> None:
    message = line.get("message") or {}
    turn.text += (message.get("content") or "") + (line.get("response") or "")
    turn.reasoning += (message.get("thinking") or "") + (line.get("thinking") or "")
    for call in message.get("tool_calls") or ():
        function = call["function"]
        raw_calls[len(raw_calls)] = RawCall(function["name"], json.dumps(function["arguments"]), closed=True)
    if line.get("done"):
        reason = line.get("done_reason") or "stop"
        stop = "tool_use" if raw_calls and reason == "stop" else _CHAT_STOP.get(reason, reason)
        turn.stop, turn.ended = stop, True


def _read_cohere(event: dict[str, Any], turn: ReadTurn, raw_calls: dict[int, RawCall]) -> None:
    kind, index, delta = event.get("type"), event.get("index", 0), event.get("delta") or {}
    message = delta.get("message") or {}
    if kind == "message-start":
        turn.response_ids.add(event["id"])
    elif kind == "tool-plan-delta":
        turn.reasoning += message["tool_plan"]
    elif kind in ("content-start", "content-delta"):
        turn.text += message["content"].get("text") or ""
        turn.reasoning += message["content"].get("thinking") or ""
    elif kind in ("tool-call-start", "tool-call-delta"):
        function = message["tool_calls"]["function"]
        grow(raw_calls, index, function.get("name") or "", function.get("arguments") or "")
    elif kind == "tool-call-end":
        raw_calls[index].closed = True
    elif kind == "message-end" and delta["finish_reason"] in ("ERROR", "TIMEOUT"):
        turn.error = delta
    elif kind == "message-end":
        turn.stop = _COHERE_STOP.get(delta["finish_reason"], delta["finish_reason"])
        turn.ended = True


def read_frames(received: bytes) -> ReadTurn:
    turn, raw_calls = ReadTurn(), dict[int, RawCall]()
    for kind, event in unframe(received):
        index, delta = event.get("contentBlockIndex", 0), event.get("delta") or {}
        if kind == "contentBlockStart" and "toolUse" in event["start"]:
            grow(raw_calls, index, event["start"]["toolUse"]["name"], "")
        elif kind == "contentBlockDelta":
            turn.text += delta.get("text") or ""
            turn.reasoning += (delta.get("reasoningContent") or {}).get("text") or ""
            if "toolUse" in delta:
                grow(raw_calls, index, "", delta["toolUse"]["input"])
        elif kind == "contentBlockStop":
            close(raw_calls)
        elif kind == "messageStop":
            turn.stop, turn.ended = event["stopReason"], True
        elif kind.endswith("Exception"):
            turn.error = {"type": kind, **event}
    turn.calls = [put_together(raw_calls[index]) for index in sorted(raw_calls)]
    return turn


def _read_item_event(event: dict[str, Any], turn: ReadTurn, raw_calls: dict[int, RawCall]) -> None:
    kind, index = event.get("type", ""), event.get("output_index", 0)
    if kind == "response.output_text.delta":
        turn.text += event["delta"]
    elif kind == "response.refusal.delta":
        turn.refusal += event["delta"]
    elif kind in ("response.reasoning_summary_text.delta", "response.reasoning_text.delta"):
        turn.reasoning += event["delta"]
    elif kind == "response.output_item.added" and event["item"]["type"] == "function_call":
        grow(raw_calls, index, event["item"]["name"], "")
    elif kind == "response.function_call_arguments.delta":
        grow(raw_calls, index, "", event["delta"])
    elif kind == "response.output_item.done" and index in raw_calls:
        raw_calls[index].closed = True
    elif "response" in event:
        turn.response_ids.add(event["response"]["id"])
        _read_response(kind, event["response"], turn, raw_calls)


def _read_response(
    kind: str, response: dict[str, Any], turn: ReadTurn, raw_calls: dict[int, RawCall]
) -> None:
    if kind == "response.failed":
        turn.error = response["error"]
    elif kind in ("response.completed", "response.incomplete"):
        reason = (response.get("incomplete_details") or {}).get("reason") or ""
        turn.stop = _RESPONSES_STOP.get(reason, reason) or ("tool_use" if raw_calls else "end_turn")
        turn.ended = True


READERS: dict[Dialect, Callable[[dict[str, Any], ReadTurn, dict[int, RawCall]], None]] = {
    "openai-responses": _read_item_event,
    "anthropic": _read_event,
    "ollama": _read_line,
    "cohere": _read_cohere,
    "gemini-interactions": _read_step_event,
}
