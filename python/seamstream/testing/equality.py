"""What "the same answer" means, decided from the bytes that a reader got.

The bytes are read by a small reader written for this, not by seamstream's core: what is judged must not judge
itself. Two turns are equal when text (adjacent parts joined), refusal, stop reason and tool calls (name,
arguments, order) are equal.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from ..recovery.continuation.facts import Dialect
from .render_bedrock import unframe

_LINE_END = re.compile(rb"\r\n|\n|\r")
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


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call. `arguments` is the JSON value, or raw text if it is none; `whole`: it may be executed."""

    name: str
    arguments: Any
    whole: bool


@dataclass(slots=True)
class _RawCall:
    name: str = ""
    arguments: str = ""
    closed: bool = False


@dataclass(slots=True)
class ReadTurn:
    """A turn as a reader would put it together. `ended` is the dialect's own proof that it is complete."""

    text: str = ""
    refusal: str = ""
    reasoning: str = ""
    calls: list[Call] = field(default_factory=list)
    stop: str | None = None
    ended: bool = False
    error: dict[str, Any] | None = None
    response_ids: set[str] = field(default_factory=set)


def read_turn(dialect: Dialect, received: bytes, *, choice: int = 0) -> ReadTurn:
    """The turn in `received`, which may break off anywhere."""
    turn, raw_calls = ReadTurn(), dict[int, _RawCall]()
    if dialect == "bedrock":
        return _read_frames(received)
    for data in _lines(received) if dialect == "ollama" else _event_data(received):
        if data == "[DONE]":
            continue
        event = json.loads(data)
        if event.get("error") or event.get("type") == "error":
            turn.error = event.get("error") or event
        elif dialect == "openai-chat":
            _read_chunk(event, turn, raw_calls, choice)
        elif dialect == "gemini":
            _read_candidates(event, turn, raw_calls, choice)
        else:
            _READERS[dialect](event, turn, raw_calls)
    turn.calls = [_call(raw_calls[index]) for index in sorted(raw_calls)]
    return turn


def differences(expected: ReadTurn, got: ReadTurn) -> list[str]:
    """The names of the properties that are not equal; empty when both are the same answer."""
    pairs = {
        "text": (expected.text, got.text),
        "refusal": (expected.refusal, got.refusal),
        "tool calls": (expected.calls, got.calls),
        "stop reason": (expected.stop, got.stop),
        "end": (expected.ended, got.ended),
    }
    return [name for name, (left, right) in pairs.items() if left != right]


def salvaged(at_the_cut: ReadTurn) -> ReadTurn:
    """What is due when a cut left complete calls: its text and those calls, ended as tool use (plan R2)."""
    calls = [call for call in at_the_cut.calls if call.whole]
    return replace(at_the_cut, calls=calls, stop="tool_use", ended=True, error=None)


def _event_data(received: bytes) -> list[str]:
    """The data of every event that a blank line has closed."""
    events, lines = list[str](), list[str]()
    *closed_lines, _ = _LINE_END.split(received)
    for line in closed_lines:
        if not line and lines:
            events.append("\n".join(lines))
            lines = []
        elif line.startswith(b"data:"):
            lines.append(line[5:].removeprefix(b" ").decode(errors="replace"))
    return events


def _lines(received: bytes) -> list[str]:
    """Every line of NDJSON that has come to its end."""
    *closed, _ = received.split(b"\n")
    return [line.decode(errors="replace") for line in closed if line.strip()]


def _read_chunk(chunk: dict[str, Any], turn: ReadTurn, raw_calls: dict[int, _RawCall], choice: int) -> None:
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
            _close(raw_calls, but=index)
            _grow(raw_calls, index, function.get("name") or "", function.get("arguments") or "")
        if found.get("finish_reason"):
            turn.stop = _CHAT_STOP.get(found["finish_reason"], found["finish_reason"])
            turn.ended = True
            _close(raw_calls)


def _read_candidates(
    chunk: dict[str, Any], turn: ReadTurn, raw_calls: dict[int, _RawCall], choice: int
) -> None:
    """Whole calls only: streamed pieces of arguments are no answer of the test model's."""
    for found in chunk.get("candidates") or ():
        if found.get("index", 0) != choice:
            continue
        turn.response_ids.add(chunk.get("responseId", ""))
        for part in (found.get("content") or {}).get("parts") or ():
            if call := part.get("functionCall"):
                _grow(raw_calls, len(raw_calls), call["name"], json.dumps(call.get("args") or {}))
                _close(raw_calls)
            elif part.get("thought"):
                turn.reasoning += part.get("text") or ""
            else:
                turn.text += part.get("text") or ""
        if reason := found.get("finishReason"):
            ended = "tool_use" if raw_calls else "end_turn"
            turn.stop = ended if reason == "STOP" else _GEMINI_STOP.get(reason, reason)
            turn.ended = True


def _read_step_event(event: dict[str, Any], turn: ReadTurn, raw_calls: dict[int, _RawCall]) -> None:
    kind, index, delta = event.get("event_type"), event.get("index", 0), event.get("delta") or {}
    if kind == "interaction.created":
        turn.response_ids.add(event["interaction"]["id"])
    elif kind == "step.start" and event["step"]["type"] == "function_call":
        _grow(raw_calls, index, event["step"]["name"], "")
    elif kind == "step.delta":
        turn.text += delta.get("text") or ""
        turn.reasoning += (delta.get("content") or {}).get("text") or ""
        if index in raw_calls:
            _grow(raw_calls, index, "", delta.get("arguments") or "")
    elif kind == "step.stop":
        _close(raw_calls)
    elif kind == "interaction.completed":
        status = event["interaction"]["status"]
        turn.stop = _INTERACTIONS_STOP.get(status, status)
        turn.ended = True


def _read_event(event: dict[str, Any], turn: ReadTurn, raw_calls: dict[int, _RawCall]) -> None:
    kind, index = event.get("type"), event.get("index", 0)
    if kind == "message_start":
        turn.response_ids.add(event["message"]["id"])
    elif kind == "content_block_start":
        block = event["content_block"]
        turn.text += block.get("text") or ""
        if block["type"] == "tool_use":
            _grow(raw_calls, index, block["name"], "")
    elif kind == "content_block_delta":
        delta = event["delta"]
        turn.text += delta.get("text") or ""
        turn.reasoning += delta.get("thinking") or ""
        if index in raw_calls:
            _grow(raw_calls, index, "", delta.get("partial_json") or "")
    elif kind == "content_block_stop":
        _close(raw_calls)
    elif kind == "message_delta":
        turn.stop = event["delta"].get("stop_reason") or turn.stop
    elif kind == "message_stop":
        turn.ended = True


def _read_line(line: dict[str, Any], turn: ReadTurn, raw_calls: dict[int, _RawCall]) -> None:
    message = line.get("message") or {}
    turn.text += (message.get("content") or "") + (line.get("response") or "")
    turn.reasoning += (message.get("thinking") or "") + (line.get("thinking") or "")
    for call in message.get("tool_calls") or ():
        function = call["function"]
        raw_calls[len(raw_calls)] = _RawCall(function["name"], json.dumps(function["arguments"]), closed=True)
    if line.get("done"):
        reason = line.get("done_reason") or "stop"
        stop = "tool_use" if raw_calls and reason == "stop" else _CHAT_STOP.get(reason, reason)
        turn.stop, turn.ended = stop, True


def _read_cohere(event: dict[str, Any], turn: ReadTurn, raw_calls: dict[int, _RawCall]) -> None:
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
        _grow(raw_calls, index, function.get("name") or "", function.get("arguments") or "")
    elif kind == "tool-call-end":
        raw_calls[index].closed = True
    elif kind == "message-end" and delta["finish_reason"] in ("ERROR", "TIMEOUT"):
        turn.error = delta
    elif kind == "message-end":
        turn.stop = _COHERE_STOP.get(delta["finish_reason"], delta["finish_reason"])
        turn.ended = True


def _read_frames(received: bytes) -> ReadTurn:
    turn, raw_calls = ReadTurn(), dict[int, _RawCall]()
    for kind, event in unframe(received):
        index, delta = event.get("contentBlockIndex", 0), event.get("delta") or {}
        if kind == "contentBlockStart":
            _grow(raw_calls, index, event["start"]["toolUse"]["name"], "")
        elif kind == "contentBlockDelta":
            turn.text += delta.get("text") or ""
            turn.reasoning += (delta.get("reasoningContent") or {}).get("text") or ""
            if "toolUse" in delta:
                _grow(raw_calls, index, "", delta["toolUse"]["input"])
        elif kind == "contentBlockStop":
            _close(raw_calls)
        elif kind == "messageStop":
            turn.stop, turn.ended = event["stopReason"], True
        elif kind.endswith("Exception"):
            turn.error = {"type": kind, **event}
    turn.calls = [_call(raw_calls[index]) for index in sorted(raw_calls)]
    return turn


def _read_item_event(event: dict[str, Any], turn: ReadTurn, raw_calls: dict[int, _RawCall]) -> None:
    kind, index = event.get("type", ""), event.get("output_index", 0)
    if kind == "response.output_text.delta":
        turn.text += event["delta"]
    elif kind == "response.refusal.delta":
        turn.refusal += event["delta"]
    elif kind in ("response.reasoning_summary_text.delta", "response.reasoning_text.delta"):
        turn.reasoning += event["delta"]
    elif kind == "response.output_item.added" and event["item"]["type"] == "function_call":
        _grow(raw_calls, index, event["item"]["name"], "")
    elif kind == "response.function_call_arguments.delta":
        _grow(raw_calls, index, "", event["delta"])
    elif kind == "response.output_item.done" and index in raw_calls:
        raw_calls[index].closed = True
    elif "response" in event:
        turn.response_ids.add(event["response"]["id"])
        _read_response(kind, event["response"], turn, raw_calls)


def _read_response(
    kind: str, response: dict[str, Any], turn: ReadTurn, raw_calls: dict[int, _RawCall]
) -> None:
    if kind == "response.failed":
        turn.error = response["error"]
    elif kind in ("response.completed", "response.incomplete"):
        reason = (response.get("incomplete_details") or {}).get("reason") or ""
        turn.stop = _RESPONSES_STOP.get(reason, reason) or ("tool_use" if raw_calls else "end_turn")
        turn.ended = True


def _grow(raw_calls: dict[int, _RawCall], index: int, name: str, arguments: str) -> None:
    call = raw_calls.setdefault(index, _RawCall())
    call.name += name
    call.arguments += arguments


def _close(raw_calls: dict[int, _RawCall], *, but: int | None = None) -> None:
    for index, call in raw_calls.items():
        call.closed = call.closed or index != but


def _call(raw: _RawCall) -> Call:
    """A closed call is whole; an open one only when its arguments are an object that says something."""
    try:
        value = json.loads(raw.arguments or "{}")
    except ValueError:
        return Call(raw.name, raw.arguments, whole=raw.closed)
    return Call(raw.name, value, whole=raw.closed or (isinstance(value, dict) and bool(value)))


_READERS: dict[Dialect, Callable[[dict[str, Any], ReadTurn, dict[int, _RawCall]], None]] = {
    "openai-responses": _read_item_event,
    "anthropic": _read_event,
    "ollama": _read_line,
    "cohere": _read_cohere,
    "gemini-interactions": _read_step_event,
}
