"""Healthy ways of delivering a stream that a hasty watchdog takes for a failure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.corpus import STREAMS, CorpusStream, by_name
from tests.support.single_run import PAUSED_READER, Script
from tests.support.wire import frames

PINGS = {
    "openai-chat": b": still working\n\n",
    "openai-responses": b": still working\n\n",
    "cohere": b": still working\n\n",
    "gemini-interactions": b": still working\n\n",
    "anthropic": b'event: ping\ndata: {"type": "ping"}\n\n',
}
IDLE_S, QUIET_S, FIRST_S = 119.0, 590.0, 595.0
"""Just below the default limits of a flowing text, of reasoning and tools, and before anything came."""


@dataclass(frozen=True)
class OddStream:
    name: str
    stream: CorpusStream
    script: Callable[[bytes], Script]
    at_least_s: float

    def __str__(self) -> str:
        return self.name


def odd_streams() -> list[OddStream]:
    """More than a hundred."""
    found = [OddStream(f"drip-{stream}", stream, _drip, _dripping_s(stream)) for stream in STREAMS]
    found += [
        OddStream(f"slow-{stream}", stream, _even_pace, 200.0)
        for stream in STREAMS
        if len(frames(stream.data)) > 1
    ]
    found += [_pinged(stream) for stream in STREAMS[::3] if stream.dialect in PINGS]
    return found + _named()


def _dripping_s(stream: CorpusStream) -> float:
    """Ten seconds at least, but for the shortest streams."""
    return min(10.0, 3.0 * len(stream.data) / 100)


def _drip(data: bytes) -> Script:
    """A hundred bytes every three seconds, wherever that cuts."""
    for at in range(0, len(data), 100):
        yield 3.0, data[at : at + 100]


def _even_pace(data: bytes) -> Script:
    """The whole answer takes eighteen minutes, or less where that were too long a silence between events."""
    events = frames(data)
    silent = any(event.lstrip().startswith(b":") for event in events)  # comments are no progress
    gap_s = min(55.0 if silent else 110.0, 18 * 60.0 / (len(events) - 1))
    for event in events:
        yield gap_s, event


def _pinged(stream: CorpusStream) -> OddStream:
    """A ping before every event; nobody may count it as progress, or break on it."""
    ping = PINGS[stream.dialect]

    def script(data: bytes) -> Script:
        for event in frames(data):
            yield 15.0, ping
            yield 15.0, event

    return OddStream(f"pinged-{stream}", stream, script, 60.0)


def _named() -> list[OddStream]:
    found = []
    for name in ("chat_text_plain", "anthropic_text_plain"):
        stream = by_name(name)
        found += [
            OddStream(f"an answer of eighteen minutes, {name}", stream, _even_pace, 18 * 60.0),
            OddStream(f"ten minutes of pings, then {name}", stream, _ping_first(stream), FIRST_S),
            OddStream(f"ten minutes of silence, then {name}", stream, _at(0, FIRST_S), FIRST_S),
            OddStream(f"a reader that pauses five minutes in {name}", stream, _paused, 300.0),
            OddStream(f"a long breath in the middle of {name}", stream, _in_the_middle(IDLE_S), IDLE_S),
            OddStream(f"an end that is slow to come in {name}", stream, _at(-1, 100.0), 100.0),
            OddStream(f"a connection left open after {name}", stream, _left_open, 0.0),
            OddStream(f"two minutes after the first event of {name}", stream, _at(1, IDLE_S), IDLE_S),
        ]
    found += [
        OddStream("330 s inside a chat tool call", by_name("chat_tool_one"), _in_the_middle(330.0), 330.0),
        OddStream("330 s inside a tool block", by_name("anthropic_tool_one"), _in_the_middle(330.0), 330.0),
        OddStream("long reasoning", by_name("chat_reasoning_text"), _at(5, QUIET_S), QUIET_S),
        OddStream("long thinking", by_name("anthropic_thinking_text"), _at(5, QUIET_S), QUIET_S),
        OddStream("a long search", by_name("anthropic_server_search"), _at(10, QUIET_S), QUIET_S),
        OddStream("filters late by a minute", by_name("chat_azure_late_filters"), _at(-3, 60.0), 60.0),
        OddStream("filters late one by one", by_name("chat_azure_late_filters"), _end_in_steps, 60.0),
        OddStream("usage late by half a minute", by_name("chat_usage_chunks"), _at(-2, 30.0), 30.0),
    ]
    return found


def _at(place: int, gap_s: float) -> Callable[[bytes], Script]:
    """A gap before the event at that place."""

    def script(data: bytes) -> Script:
        events = frames(data)
        for number, event in enumerate(events):
            yield (gap_s if number == place % len(events) else 0.02), event

    return script


def _in_the_middle(gap_s: float) -> Callable[[bytes], Script]:
    return lambda data: _at(len(frames(data)) // 2, gap_s)(data)


def _ping_first(stream: CorpusStream) -> Callable[[bytes], Script]:
    def script(data: bytes) -> Script:
        for _ in range(int(FIRST_S // 15)):
            yield 15.0, PINGS[stream.dialect]
        yield FIRST_S % 15, data

    return script


def _paused(data: bytes) -> Script:
    events = frames(data)
    half = len(events) // 2
    for event in events[:half]:
        yield 0.02, event
    yield 0.02, PAUSED_READER
    yield 300.0, events[half]
    for event in events[half + 1 :]:
        yield 0.02, event


def _left_open(data: bytes) -> Script:
    for event in frames(data):
        yield 0.02, event
    while True:
        yield 60.0, PINGS["openai-chat"]


def _end_in_steps(data: bytes) -> Script:
    for event in frames(data)[:-4]:
        yield 0.02, event
    for event in frames(data)[-4:]:
        yield 20.0, event
