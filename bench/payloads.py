"""The streams that are measured: one answer with text and one tool call, as both providers send it.

A chat event has 290 bytes, as OpenAI's own with their padding field; Anthropic's are as long as they are.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from functools import cache
from typing import Any

CHAT_EVENT_BYTES = 290
READ_BYTES = 1400
"""About what one TCP segment carries."""

TEXT_DELTAS = 1500
ARGUMENT_DELTAS = 480
TOOL_ID = "call_Zk3vQ8pW1xT5"
TOOL_NAME = "write_file"
WORDS = (
    "the",
    "of",
    "stream",
    "and",
    "to",
    "answer",
    "token",
    "café",
    "in",
    "a",
    "when",
    "漢字",
    "breaks",
    "seam",
)


@dataclass(frozen=True)
class Expected:
    """What the accumulated turn has to be, built from the words and not from the stream."""

    text: str
    arguments: str


@dataclass(frozen=True)
class Payload:
    """A stream as events; the reads are how a socket might give them."""

    events: tuple[bytes, ...]
    expected: Expected

    @property
    def body(self) -> bytes:
        return b"".join(self.events)

    def reads(self, read_bytes: int = READ_BYTES) -> list[bytes]:
        body = self.body
        return [body[start : start + read_bytes] for start in range(0, len(body), read_bytes)]


def words(count: int) -> list[str]:
    """The same words every time; each with its space, as tokens have it."""
    chance = random.Random(7)
    return [" " + chance.choice(WORDS) for _ in range(count)]


def pieces(text: str, size: int) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


@cache
def answer() -> tuple[list[str], list[str]]:
    """The text deltas, and the argument deltas of about 12 characters each."""
    content = "".join(words(2 * ARGUMENT_DELTAS))
    arguments = json.dumps(
        {"path": "notes/today.md", "lines": [1, 2, 3], "content": content}, ensure_ascii=False
    )
    return words(TEXT_DELTAS), pieces(arguments, len(arguments) // ARGUMENT_DELTAS + 1)


@cache
def chat() -> Payload:
    text, arguments = answer()
    function = {"name": TOOL_NAME, "arguments": ""}
    opening = {"index": 0, "id": TOOL_ID, "type": "function", "function": function}
    events = [chat_event({"role": "assistant", "content": ""})]
    events += [chat_event({"content": delta}) for delta in text]
    events.append(chat_event({"tool_calls": [opening]}))
    events += [
        chat_event({"tool_calls": [{"index": 0, "function": {"arguments": part}}]}) for part in arguments
    ]
    events.append(chat_event({}, "tool_calls"))
    events.append(b"data: [DONE]\n\n")
    return Payload(tuple(events), Expected("".join(text), "".join(arguments)))


def chat_event(delta: dict[str, Any], finish_reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
    chunk: dict[str, Any] = {
        "id": "chatcmpl-CzQ1v8n4Xk2bT7mR5wYp",
        "object": "chat.completion.chunk",
        "created": 1760000000,
        "model": "gpt-4o-2024-08-06",
        "service_tier": "default",
        "system_fingerprint": "fp_5f3a91c20b",
        "choices": [choice],
        "obfuscation": "",
    }
    missing = CHAT_EVENT_BYTES - len(_data_line(chunk))
    chunk["obfuscation"] = ("k3Vb9" * 60)[: max(missing, 0)]
    return _data_line(chunk)


@cache
def anthropic() -> Payload:
    text, arguments = answer()
    message = {"id": "msg_01Xk2bT7mR5wYp", "type": "message", "role": "assistant", "model": "claude-sonnet-4"}
    message |= {"content": [], "stop_reason": None, "stop_sequence": None}
    message |= {"usage": {"input_tokens": 25, "output_tokens": 1}}
    tool = {"type": "tool_use", "id": TOOL_ID, "name": TOOL_NAME, "input": {}}
    stop = {"delta": {"stop_reason": "tool_use", "stop_sequence": None}, "usage": {"output_tokens": 2000}}
    events = [
        anthropic_event("message_start", message=message),
        anthropic_event("content_block_start", index=0, content_block={"type": "text", "text": ""}),
        anthropic_event("ping"),
        *(_anthropic_delta(0, "text_delta", text=part) for part in text),
        anthropic_event("content_block_stop", index=0),
        anthropic_event("content_block_start", index=1, content_block=tool),
        *(_anthropic_delta(1, "input_json_delta", partial_json=part) for part in arguments),
        anthropic_event("content_block_stop", index=1),
        anthropic_event("message_delta", **stop),
        anthropic_event("message_stop"),
    ]
    return Payload(tuple(events), Expected("".join(text), "".join(arguments)))


def anthropic_event(kind: str, **fields: Any) -> bytes:
    return f"event: {kind}\n".encode() + _data_line({"type": kind, **fields})


def _anthropic_delta(index: int, kind: str, **fields: str) -> bytes:
    return anthropic_event("content_block_delta", index=index, delta={"type": kind, **fields})


def _data_line(value: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n\n"
