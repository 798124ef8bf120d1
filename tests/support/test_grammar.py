"""The grammar check finds what SDKs take without a word."""

from __future__ import annotations

import json
from typing import Any

import pytest

from seamstream.testing.render_bedrock import frame
from tests.corpus import STREAMS
from tests.corpus.stream import CorpusStream, Dialect
from tests.support.grammar import assert_well_formed
from tests.support.wire import frames


def _sse(*events: dict[str, Any]) -> bytes:
    return "".join(f"data: {json.dumps(event)}\n\n" for event in events).encode()


def _ndjson(*lines: dict[str, Any]) -> bytes:
    return "".join(f"{json.dumps(line)}\n" for line in lines).encode()


def _frames(*events: tuple[str, dict[str, Any]]) -> bytes:
    return b"".join(frame(kind, payload, exception=kind.endswith("Exception")) for kind, payload in events)


START, END = {"type": "message-start", "id": "a"}, {"type": "message-end", "delta": {}}
OPEN, CLOSE = {"type": "content-start", "index": 0}, {"type": "content-end", "index": 0}
DELTA = {"type": "content-delta", "index": 0}
CHAT = {"message": {"content": "a"}, "done": False}
DONE = {"message": {"content": ""}, "done": True}
BEGIN, STOP, USAGE = ("messageStart", {"role": "assistant"}), ("messageStop", {}), ("metadata", {})
FAILED = ("throttlingException", {"message": "no"})
CALL, SHUT = {"toolUse": {"toolUseId": "t", "name": "f"}}, ("contentBlockStop", {"contentBlockIndex": 0})
OPENED = ("contentBlockStart", {"contentBlockIndex": 0, "start": CALL})
SAID = ("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "a"}})
FED = ("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"toolUse": {"input": "{}"}}})
NEXT = ("contentBlockDelta", {"contentBlockIndex": 1, "delta": {"text": "a"}})
BROKEN: list[tuple[Dialect, bytes]] = [
    ("cohere", _sse(START, OPEN, DELTA, END)),
    ("cohere", _sse(START, DELTA, END)),
    ("cohere", _sse(START, OPEN, OPEN, CLOSE, END)),
    ("cohere", _sse(START, OPEN, CLOSE, OPEN, CLOSE, END)),
    ("cohere", _sse(START, START, END)),
    ("cohere", _sse(START, END, END)),
    ("cohere", _sse(START, OPEN, CLOSE)),
    ("cohere", _sse(OPEN, CLOSE, END)),
    ("bedrock", _frames(SAID, SHUT, STOP)),
    ("bedrock", _frames(BEGIN, BEGIN, SAID, SHUT, STOP)),
    ("bedrock", _frames(BEGIN, SAID, SHUT)),
    ("bedrock", _frames(BEGIN, SAID, STOP)),
    ("bedrock", _frames(BEGIN, SAID, NEXT, SHUT, STOP)),
    ("bedrock", _frames(BEGIN, SAID, SHUT, SHUT, STOP)),
    ("bedrock", _frames(BEGIN, SAID, SHUT, SAID, SHUT, STOP)),
    ("bedrock", _frames(BEGIN, SAID, FED, SHUT, STOP)),
    ("bedrock", _frames(BEGIN, FED, SHUT, STOP)),
    ("bedrock", _frames(BEGIN, OPENED, OPENED, SHUT, STOP)),
    ("bedrock", _frames(BEGIN, OPENED, SAID, SHUT, STOP)),
    ("bedrock", _frames(BEGIN, STOP, STOP)),
    ("bedrock", _frames(BEGIN, STOP, SAID, SHUT)),
    ("bedrock", _frames(BEGIN, STOP, USAGE, USAGE)),
    ("bedrock", _frames(BEGIN, USAGE, STOP)),
    ("bedrock", _frames(BEGIN, FAILED, STOP)),
    ("bedrock", _frames(BEGIN, STOP, FAILED)),
    ("ollama", _ndjson(CHAT)),
    ("ollama", _ndjson(DONE, DONE)),
    ("ollama", _ndjson(CHAT, DONE, CHAT)),
    ("ollama", _ndjson({"response": "a", "done": False}, DONE)),
]


@pytest.mark.parametrize("stream", STREAMS, ids=str)
def test_healthy_streams_are_well_formed_and_their_beginnings_too(stream: CorpusStream) -> None:
    assert_well_formed(stream.dialect, stream.data, whole=True)
    events = frames(stream.data)
    for count in range(len(events)):
        assert_well_formed(stream.dialect, b"".join(events[:count]), whole=False)


@pytest.mark.parametrize(("dialect", "data"), BROKEN)
def test_every_fault_is_found(dialect: Dialect, data: bytes) -> None:
    with pytest.raises(AssertionError):
        assert_well_formed(dialect, data, whole=True)
