"""What the two dialects look like on the wire of the model server, read strictly and without seamstream.

The reader here is a second opinion: it shares no code with the library, and it fails on a stream that no
single answer could have produced (two beginnings, two ends, text after the end, an id that changes midway).
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

MODEL = "local"
"""The server has one model, whatever it is called."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer. `stop` is the dialect's own word; `text_ends`: body bytes where a delta was whole."""

    text: str
    stop: str
    text_ends: tuple[int, ...]


class Dialect(ABC):
    """How to ask in one dialect, and how to read what comes back."""

    name: str
    path: str

    def request(self, prompt: str, max_tokens: int) -> dict[str, Any]:
        return {
            "model": MODEL,
            "messages": [{"role": "user", "content": prompt}],
            "max_tokens": max_tokens,
            "temperature": 0,
            "seed": 1,
            "stream": True,
        }

    def prefill(self, request_body: bytes) -> str:
        """The text of the trailing assistant turn; empty when the request has none."""
        last = json.loads(request_body)["messages"][-1]
        if last["role"] != "assistant":
            return ""
        content = last["content"]
        return content if isinstance(content, str) else "".join(part["text"] for part in content)

    @abstractmethod
    def read(self, body: bytes) -> Answer:
        """The answer in a whole response body."""

    def partial_text(self, body: bytes) -> str:
        """The text in a response body that broke off; an event whose data did not arrive whole is none."""
        return "".join(self.text_of(event) for event in _whole_events(body))

    def pieces(self, body: bytes) -> int:
        """How many pieces of text it holds; each took the model at least one token."""
        return sum(1 for event in _whole_events(body) if self.text_of(event))

    @abstractmethod
    def text_of(self, event: dict[str, Any]) -> str:
        """The piece of text that one event carries."""


class Chat(Dialect):
    """OpenAI Chat Completions."""

    name = "openai-chat"
    path = "/v1/chat/completions"

    def read(self, body: bytes) -> Answer:
        text, stop, ends, ids = "", "", [], set()
        *events, (_, done) = list(_data_lines(body))
        assert done == "[DONE]", f"the last event is {done!r}"
        for end, data in events:
            chunk = json.loads(data)
            ids.add(chunk["id"])
            for choice in chunk["choices"]:
                assert not stop, f"more after the finish reason: {data}"
                stop = choice["finish_reason"] or ""
            if piece := self.text_of(chunk):
                text += piece
                ends.append(end)
        assert stop, "no finish reason"
        assert len(ids) == 1, f"one answer with {len(ids)} ids"
        return Answer(text, stop, tuple(ends))

    def text_of(self, event: dict[str, Any]) -> str:
        return "".join(choice["delta"].get("content") or "" for choice in event["choices"])


class Messages(Dialect):
    """Anthropic Messages."""

    name = "anthropic"
    path = "/v1/messages"

    def read(self, body: bytes) -> Answer:
        text, stop, ends, kinds = "", "", [], []
        for end, data in _data_lines(body):
            event = json.loads(data)
            kinds.append(event["type"])
            if event["type"] == "content_block_delta":
                assert event["index"] == kinds.count("content_block_start") - 1, data
                text += self.text_of(event)
                ends.append(end)
            elif event["type"] == "message_delta":
                stop = event["delta"]["stop_reason"]
        kinds = [kind for kind in kinds if kind not in ("content_block_delta", "ping")]
        assert kinds == [
            "message_start",
            "content_block_start",
            "content_block_stop",
            "message_delta",
            "message_stop",
        ]
        return Answer(text, stop, tuple(ends))

    def text_of(self, event: dict[str, Any]) -> str:
        return event["delta"]["text"] if event["type"] == "content_block_delta" else ""


def _data_lines(body: bytes) -> Iterator[tuple[int, str]]:
    """The `data` of each event, and the body byte at which that event was whole (its blank line included)."""
    position = 0
    for event in body.split(b"\n\n"):
        position += len(event) + 2
        for line in event.decode().split("\n"):
            if line.startswith("data: "):
                yield position, line.removeprefix("data: ")


def _whole_events(body: bytes) -> Iterator[dict[str, Any]]:
    for line in body.decode(errors="replace").split("\n"):
        with suppress(json.JSONDecodeError):
            if line.startswith("data: "):
                yield json.loads(line.removeprefix("data: "))


CHAT = Chat()
MESSAGES = Messages()
DIALECTS = (CHAT, MESSAGES)
