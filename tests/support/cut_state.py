"""What a cut left behind, read from the wire by the shortest code that can, to judge the planner by.

It knows the table of plans and the rule for a pending event at the end, and nothing of the core.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from seamstream.testing.render_bedrock import unframe
from tests.corpus.stream import Dialect
from tests.support import (
    bedrock_state,
    cohere_state,
    gemini_state,
    interactions_state,
    ollama_state,
    responses_state,
)

NORMAL_CHAT_STOPS = {"stop", "length", "tool_calls", "content_filter", "function_call"}
CLOSING_CHAT_STOPS = {"stop", "tool_calls", "function_call"}

Call = tuple[str, str]
"""Name and raw arguments of a tool call (`{}` when it had none)."""


@dataclass
class OpenCall:
    name: str
    arguments: str = ""
    closed: bool = False
    json: bool = True
    """False: only its provider can say when it is whole."""

    @property
    def complete(self) -> bool:
        if self.closed or not self.json:
            return self.closed
        whole = whole_arguments(self.arguments)
        try:
            return isinstance(json.loads(whole), dict) and bool(json.loads(whole))
        except ValueError:
            return False


@dataclass
class CutState:
    """The received part of a turn. `calls` are client-side ones in order of their first sight."""

    text: str = ""
    refusal: str = ""
    reasoning: str = ""
    stops: dict[int, str] = field(default_factory=dict)
    calls: list[OpenCall] = field(default_factory=list)
    server_item: bool = False
    ids: list[str] = field(default_factory=list)
    error: str | None = None
    ended: bool = False

    @property
    def complete_calls(self) -> tuple[Call, ...]:
        return tuple((call.name, whole_arguments(call.arguments)) for call in self.calls if call.complete)

    def plan(self, choices: int) -> str:
        """The row of the plan table that this state falls into."""
        if self.ended or len(self.stops) >= choices:
            return "R0"
        if self.complete_calls:
            return "R2"
        if self.text.strip() or self.refusal.strip():
            return "R3" if self.calls else "R1"
        return "R4"


def whole_arguments(raw: str | None) -> str:
    """The SDK joins a `{}` placeholder and the arguments that replace it; no arguments at all mean `{}`."""
    if not raw:
        return "{}"
    return raw[2:] if raw.startswith("{}") and len(raw) > 2 else raw


def events_of(data: bytes) -> list[str]:
    """The data of each event; at the end of input a pending one only if it is whole JSON or `[DONE]`."""
    if data.startswith(b"{"):
        return _lines_of(data)
    lines = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
    found: list[str] = []
    pending: list[bytes] = []
    for line in lines[:-1]:
        if not line:
            found += _joined(pending)
            pending = []
        elif line.startswith(b"data:"):
            pending.append(line[5:].removeprefix(b" "))
    if lines[-1].startswith(b"data:"):
        pending.append(lines[-1][5:].removeprefix(b" "))
    return found + [text for text in _joined(pending) if _is_whole(text)]


def _lines_of(data: bytes) -> list[str]:
    """NDJSON: the last line only if it is whole."""
    *lines, last = (line.decode("utf-8", "replace") for line in data.split(b"\n"))
    return [line for line in lines if line.strip()] + [text for text in [last] if _is_whole(text)]


def _joined(parts: list[bytes]) -> list[str]:
    return [b"\n".join(parts).decode("utf-8", "replace")] if parts else []


def _is_whole(text: str) -> bool:
    try:
        return text == "[DONE]" or isinstance(json.loads(text), dict)
    except ValueError:
        return False


@lru_cache(maxsize=16)
def state_of(dialect: Dialect, data: bytes) -> CutState:
    """Read everything that `data` holds of a turn. A judge asks several times for the same cut."""
    state = CutState()
    blocks: dict[int, OpenCall] = {}
    if dialect == "bedrock":
        for kind, frame in unframe(data):
            bedrock_state.read_event(state, blocks, kind, frame, OpenCall)
        return state
    for text in events_of(data):
        if text == "[DONE]":
            continue
        event = _parsed(text)
        if event.get("error") or event.get("type") == "error":
            state.error = str(event.get("error") or event)
        elif dialect == "openai-chat":
            _read_chat(state, event)
        elif dialect == "gemini-interactions":
            interactions_state.read_event(state, blocks, event, OpenCall)
        elif dialect == "gemini":
            gemini_state.read_chunk(state, event, OpenCall)
        elif dialect == "openai-responses":
            responses_state.read_event(state, blocks, event, OpenCall)
        elif dialect == "ollama":
            ollama_state.read_line(state, event, OpenCall)
        elif dialect == "cohere":
            cohere_state.read_event(state, blocks, event, OpenCall)
        else:
            _read_anthropic(state, blocks, event)
    return state


@lru_cache(maxsize=4096)
def _parsed(text: str) -> dict[str, Any]:
    """The cuts of one stream hold the same events again and again."""
    return dict(json.loads(text))


def _read_chat(state: CutState, event: dict[str, Any]) -> None:
    if event.get("id") and event["id"] not in state.ids:
        state.ids.append(event["id"])
    for choice in event.get("choices") or []:
        delta = choice.get("delta") or {}
        _read_content(state, delta.get("content") or "")
        state.refusal += delta.get("refusal") or ""
        state.reasoning += delta.get("reasoning_content") or delta.get("reasoning") or ""
        for call in delta.get("tool_calls") or []:
            function = call.get("function") or {}
            if call["index"] == len(state.calls):
                for earlier in state.calls:
                    earlier.closed = True
                state.calls.append(OpenCall(function["name"]))
            state.calls[call["index"]].arguments += function.get("arguments") or ""
        reason = choice.get("finish_reason")
        if reason in NORMAL_CHAT_STOPS:
            state.stops[choice["index"]] = reason
            for call in state.calls if reason in CLOSING_CHAT_STOPS else ():
                call.closed = True


def _read_content(state: CutState, content: str | list[dict[str, Any]]) -> None:
    """A string, or with Mistral a list of text and thinking parts."""
    if isinstance(content, str):
        state.text += content
        return
    for part in content:
        if part["type"] == "text":
            state.text += part["text"]
        else:
            state.reasoning += "".join(piece["text"] for piece in part["thinking"])


def _read_anthropic(state: CutState, blocks: dict[int, OpenCall], event: dict[str, Any]) -> None:
    kind, index = event["type"], event.get("index", -1)
    if kind == "message_start":
        state.ids.append(event["message"]["id"])
    if kind == "content_block_start":
        block = event["content_block"]
        if block["type"] == "tool_use":
            blocks[index] = OpenCall(block["name"])
            state.calls.append(blocks[index])
        elif block["type"] not in ("text", "thinking", "redacted_thinking"):
            state.server_item = True
    elif kind == "content_block_delta":
        delta = event["delta"]
        state.text += delta.get("text", "")
        state.reasoning += delta.get("thinking", "")
        if index in blocks:
            blocks[index].arguments += delta.get("partial_json", "")
    elif kind == "content_block_stop" and index in blocks:
        blocks[index].closed = True
    elif kind == "message_delta" and event["delta"].get("stop_reason"):
        state.stops[0] = event["delta"]["stop_reason"]
    elif kind == "message_stop":
        state.ended = True
