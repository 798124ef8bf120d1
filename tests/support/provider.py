"""The provider of one stream: it answers the base request with the stream's bytes and knows how to go on.

Requests for the rest are answered by `seamstream.testing.DeterministicModel`, whose answer is what the SDK
reads from the unbroken stream. Its replies are plain in shape and have ids of their own.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache, lru_cache
from typing import Any

from seamstream.recovery.continuation.dialects import form_of
from seamstream.testing.answer import Answer, Part, Reasoning, Refusal, Text, Tool, signature_of
from seamstream.testing.model import STREAM_UNASKED, DeterministicModel, Reply
from tests.corpus import CorpusStream
from tests.corpus.stream import Dialect, pieces
from tests.support.cut_state import events_of
from tests.support.turns import turn_of
from tests.support.wire import frames

STOPS: dict[str | None, Any] = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "COMPLETE": "end_turn",
    "MAX_TOKENS": "max_tokens",
    "TOOL_CALL": "tool_use",
}
TOKEN_SIZES = (23, 41)
"""Long tokens keep the replies short; seams are anchored in characters, so nothing depends on them."""


class Provider:
    """Answers the requests of one run. A reply is its HTTP status and its whole body."""

    def __init__(self, stream: CorpusStream, *, rethinks: bool = False) -> None:
        self.stream = stream
        self._rethinks = rethinks

    def reply(self, body: bytes | None) -> tuple[int, bytes]:
        if body is None or json.loads(body) == self.stream.request:
            return 200, self.stream.data
        return _continued(self.stream.name, self.stream.dialect, body, self._rethinks, _Hashable(self.stream))


class Responder:
    """The same provider for a `FaultServer`."""

    def __init__(self, stream: CorpusStream) -> None:
        self._provider = Provider(stream)
        self._stream = stream

    def reply(self, dialect: Dialect, body: dict[str, Any]) -> Reply:
        if not body.get("stream", dialect in STREAM_UNASKED):
            return Reply(200, {"content-type": "application/json"}, body=b'{"recorded": true}')
        status, data = self._provider.reply(json.dumps(body).encode())
        kind = form_of(dialect).media_types[0] if status == 200 else "application/json"
        return Reply(status, {"content-type": kind}, events=frames(data))


class _Hashable:
    """A stream as a key of the memo below: streams are known by their names."""

    def __init__(self, stream: CorpusStream) -> None:
        self.stream = stream

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Hashable) and other.stream is self.stream

    def __hash__(self) -> int:
        return hash(self.stream.name)


@lru_cache(maxsize=4_000)
def _continued(name: str, dialect: Any, body: bytes, rethinks: bool, key: _Hashable) -> tuple[int, bytes]:
    document = json.loads(body)
    for message in document.get("messages", ()):
        _take_back_thinking(key.stream, message)
    model = _model(key)
    if rethinks:
        model = replace(model, rethinks=Reasoning(("Going on", " where it broke.")))
    reply = model.reply(dialect, document)
    return reply.status, reply.payload


@cache
def _model(key: _Hashable) -> DeterministicModel:
    return DeterministicModel(answer_of(key.stream))


def answer_of(stream: CorpusStream) -> Answer:
    """The stream's answer in abstract form, as its SDK reads it."""
    read = turn_of(stream.dialect, stream.data).answer
    parts: list[Part] = []
    if read.text:
        parts.append(Text(tuple(pieces(read.text, *TOKEN_SIZES))))
    if read.refusal:
        parts.append(Refusal(tuple(pieces(read.refusal, *TOKEN_SIZES))))
    parts += [Tool(name, tuple(pieces(arguments, *TOKEN_SIZES))) for name, arguments in read.calls]
    return Answer(tuple(parts), stop=STOPS.get(read.stop, read.stop))


def _take_back_thinking(stream: CorpusStream, message: dict[str, Any]) -> None:
    """Thinking that comes back must be what was sent, signature included; the model need not see it then."""
    content = message.get("content")
    if not isinstance(content, list):
        return
    for block in content:
        if "reasoningContent" in block:
            reasoning = block["reasoningContent"]["reasoningText"]
            assert reasoning["signature"] == signature_of(reasoning["text"]), block
        if block.get("type") in ("thinking", "redacted_thinking"):
            own = block.get("signature") == signature_of(block.get("thinking", ""))
            assert own or block in thinking_of(stream.name, stream.data), block
    message["content"] = [
        block
        for block in content
        if block.get("type") not in ("thinking", "redacted_thinking") and "reasoningContent" not in block
    ]


@cache
def thinking_of(_name: str, data: bytes) -> list[dict[str, str]]:
    """The whole thinking blocks of a Messages stream, as a client would send them back."""
    blocks: dict[int, dict[str, str]] = {}
    for event in map(json.loads, events_of(data)):
        if event["type"] == "content_block_start":
            blocks[event["index"]] = dict(event["content_block"])
        elif event["type"] == "content_block_delta":
            for field in ("thinking", "signature"):
                blocks[event["index"]][field] = blocks[event["index"]].get(field, "") + event["delta"].get(
                    field, ""
                )
    return [block for block in blocks.values() if block["type"] in ("thinking", "redacted_thinking")]
