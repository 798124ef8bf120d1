"""Real providers' streams from ../shared/recordings that speak our dialects, rebuilt as event streams.

One line of a recording is one event's data; event names, blank lines and `[DONE]` are put back here. A file
that holds several messages one after the other becomes several streams.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from seamstream.testing.render_bedrock import frame
from tests.corpus import CorpusStream
from tests.support.cut_state import state_of
from tests.support.responses_state import PASSIVE, is_clients

FOLDER = Path(__file__).parents[3] / "shared" / "recordings"
CLIENT_BLOCKS = {"text", "thinking", "redacted_thinking", "tool_use"}
LONG_CALL_BYTES = 4096
"""A call with more argument bytes than this goes live before it is complete."""
CONVERSE_BEGINS = {"messageStart", "contentBlockStart", "contentBlockDelta"}
"""Some of Bedrock's recordings were published without their first event."""
NO_DONE = ("perplexity",)
"""Providers whose own last event ends the stream, without `[DONE]`."""
BROKEN = (
    "amazon-bedrock--amazon-bedrock-tool-no-args",  # botocore refuses the start of its call, which names none
    "anthropic--spliced-message-start",  # a gateway joined two answers into one stream
    "openai--openai-client-tool-search.1",  # its call has another id when it is done than when it was added
    "openai--openai-error.1",  # the provider's error is all there is
    "openai--openai-phase.1",  # most deltas were cut out before it was published
)
"""What no accumulator can read as one whole answer."""


@cache
def recordings() -> tuple[CorpusStream, ...]:
    """All recordings of our dialects; none when the folder is not there, which only CI forbids."""
    paths = sorted(FOLDER.glob("*.jsonl")) if FOLDER.is_dir() else []
    return tuple(stream for path in paths for stream in _load(path))


def whole_recordings() -> tuple[CorpusStream, ...]:
    """Those that hold one valid answer, so that a cut one can be compared with it."""
    return tuple(stream for stream in recordings() if stream.name not in BROKEN)


def broken_recordings() -> tuple[CorpusStream, ...]:
    """The others, in which nothing may be made worse."""
    return tuple(stream for stream in recordings() if stream.name in BROKEN)


def require_recordings() -> None:
    """Skip visibly without the folder; in CI its absence is a failure."""
    if FOLDER.is_dir():
        return
    if os.environ.get("CI") == "true":
        pytest.fail("CI must have the recordings folder next to the repository")
    pytest.skip("the folder ../shared/recordings is not here")


def _load(path: Path) -> Iterator[CorpusStream]:
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    events = [json.loads(line) for line in lines]
    if events[0].get("type") == "message_start":
        ends = [at + 1 for at, event in enumerate(events) if event["type"] == "message_stop"]
        for number, (start, end) in enumerate(zip([0, *ends], ends, strict=False), 1):
            name = path.stem if len(ends) == 1 else f"{path.stem}#{number}"
            yield _anthropic(name, events[start:end], lines[start:end])
    elif events[0].get("type") == "response.created":
        starts = [at for at, event in enumerate(events) if event["type"] == "response.created"]
        for number, (start, end) in enumerate(zip(starts, [*starts[1:], None], strict=True), 1):
            name = path.stem if len(starts) == 1 else f"{path.stem}#{number}"
            yield _responses(name, events[start:end], lines[start:end])
    elif events[0].keys() & CONVERSE_BEGINS:
        yield _bedrock(path.stem, events)
    elif events[0].get("type") == "message-start":
        yield _cohere(path.stem, events, lines)
    elif "candidates" in events[0]:
        yield _gemini(path.stem, lines)
    elif events[0].get("event_type") == "interaction.created":
        yield _interactions(path.stem, events, lines)
    elif any(_is_chat(event) for event in events[:2]):
        yield _chat(path.stem, lines)
    else:
        raise ValueError(f"{path.name} is of no dialect that is known")


def _is_chat(event: dict[str, Any]) -> bool:
    choices = event.get("choices")
    return bool(choices) and isinstance(choices[0].get("delta"), dict)


def _anthropic(name: str, events: list[dict[str, Any]], lines: list[str]) -> CorpusStream:
    parts = [f"event: {event['type']}\ndata: {line}\n\n" for event, line in zip(events, lines, strict=True)]
    blocks = {event["content_block"]["type"] for event in events if event["type"] == "content_block_start"}
    body = {"model": "claude-recorded-4-5", "max_tokens": 64_000, "stream": True, "messages": _asked(name)}
    if "thinking" in blocks:
        body["thinking"] = {"type": "enabled", "budget_tokens": 2_048}
    data = "".join(parts).encode()
    reason = "server tools" if blocks - CLIENT_BLOCKS else _long_call("anthropic", data)
    return CorpusStream(name, "anthropic", body, data, reason)


def _chat(name: str, lines: list[str]) -> CorpusStream:
    done = [] if name.startswith(NO_DONE) else ["[DONE]"]
    data = "".join(f"data: {line}\n\n" for line in [*lines, *done]).encode()
    body = {"model": "recorded", "stream": True, "messages": _asked(name)}
    return CorpusStream(name, "openai-chat", body, data, _long_call("openai-chat", data))


def _bedrock(name: str, events: list[dict[str, Any]]) -> CorpusStream:
    data = b"".join(frame(kind, payload) for event in events for kind, payload in event.items())
    asked = {"role": "user", "content": [{"text": f"As recorded in {name}."}]}
    return CorpusStream(name, "bedrock", {"messages": [asked]}, data, _long_call("bedrock", data))


def _cohere(name: str, events: list[dict[str, Any]], lines: list[str]) -> CorpusStream:
    parts = [f"event: {event['type']}\ndata: {line}\n\n" for event, line in zip(events, lines, strict=True)]
    body = {"model": "recorded", "stream": True, "messages": _asked(name)}
    data = "".join(parts).encode()
    return CorpusStream(name, "cohere", body, data, _long_call("cohere", data))


def _responses(name: str, events: list[dict[str, Any]], lines: list[str]) -> CorpusStream:
    parts = [f"event: {event['type']}\ndata: {line}\n\n" for event, line in zip(events, lines, strict=True)]
    items = [event["item"] for event in events if event["type"] == "response.output_item.added"]
    body = {"model": "recorded", "stream": True, "input": _asked(name)}
    data = "".join(parts).encode()
    reason = _long_call("openai-responses", data)
    if any(item["type"] == "reasoning" for item in items):
        reason = "shown reasoning"
    if any(item["type"] not in PASSIVE and not is_clients(item) for item in items):
        reason = "server tools"
    return CorpusStream(name, "openai-responses", body, data, reason)


def _gemini(name: str, lines: list[str]) -> CorpusStream:
    data = "".join(f"data: {line}\r\n\r\n" for line in lines).encode()
    body = {"contents": [{"role": "user", "parts": [{"text": f"As recorded in {name}."}]}]}
    reason = "server tools" if state_of("gemini", data).server_item else _long_call("gemini", data)
    return CorpusStream(name, "gemini", body, data, reason)


def _interactions(name: str, events: list[dict[str, Any]], lines: list[str]) -> CorpusStream:
    parts = [
        f"event: {event['event_type']}\ndata: {line}\n\n" for event, line in zip(events, lines, strict=True)
    ]
    data = "".join([*parts, "event: done\ndata: [DONE]\n\n"]).encode()
    body = {"model": "recorded", "stream": True, "store": False, "input": f"As recorded in {name}."}
    reason = _long_call("gemini-interactions", data)
    if state_of("gemini-interactions", data).server_item:
        reason = "server tools"
    return CorpusStream(name, "gemini-interactions", body, data, reason)


def _asked(name: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": f"As recorded in {name}."}]


def _long_call(dialect: Any, data: bytes) -> Any:
    longest = max((len(call.arguments) for call in state_of(dialect, data).calls), default=0)
    return "live call" if longest > LONG_CALL_BYTES else None
