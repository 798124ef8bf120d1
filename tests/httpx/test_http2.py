"""HTTP/2's ways of taking a stream away: each has its cause, is told from the others, and is recovered."""

from __future__ import annotations

from typing import Any

import pytest

from seamstream import StreamCutError
from seamstream.testing import Dialect, differences, read_turn
from tests.httpx.asking import AT_ONCE, IMPATIENT, NO_MORE, SPOKEN, Reader, whole
from tests.httpx.h2_server import LIMITLESS, Break, H2Server

PATHS: dict[Dialect, str] = {"openai-chat": "/v1/chat/completions", "anthropic": "/v1/messages"}

# What breaks, its cause, what HTTP/2 said, and whether the next request may use the same connection.
CUTS: dict[str, tuple[Break, str, str | None, bool]] = {
    "graceful, goes on": (
        Break(goaway=0, then="goes on"), "GoAway", "HTTP/2: GOAWAY, with more frames behind it", False,
    ),
    "graceful, limitless": (
        Break(goaway=0, last_stream=LIMITLESS),
        "GoAway", f"HTTP/2: GOAWAY, NO_ERROR, last stream {LIMITLESS}", False,
    ),
    "graceful, limitless, goes on": (
        Break(goaway=0, last_stream=LIMITLESS, then="goes on"),
        "GoAway", "HTTP/2: GOAWAY, with more frames behind it", False,
    ),
    "graceful, then closed": (
        Break(goaway=0, then="fin"), "GoAway", "HTTP/2: GOAWAY, NO_ERROR, last stream 3", False,
    ),
    "last stream below ours": (
        Break(goaway=0, last_stream=1, then="fin"),
        "GoAway", "HTTP/2: GOAWAY, our request was not processed", False,
    ),
    "calm down": (
        Break(goaway=11), "GoAway", "HTTP/2: GOAWAY, ENHANCE_YOUR_CALM, last stream 3", False,
    ),
    "RST_STREAM INTERNAL_ERROR": (
        Break(reset=2), "ConnectionReset", "HTTP/2: RST_STREAM, INTERNAL_ERROR", True,
    ),
    "RST_STREAM CANCEL": (Break(reset=8), "ConnectionReset", "HTTP/2: RST_STREAM, CANCEL", True),
    "RST_STREAM NO_ERROR": (Break(reset=0), "ConnectionReset", "HTTP/2: RST_STREAM, NO_ERROR", True),
    "end of the stream": (Break(then="end stream"), "EarlyEof", None, True),
    "fin": (Break(then="fin"), "ConnectionReset", None, False),
    "tcp reset": (Break(then="tcp reset"), "ConnectionReset", None, False),
    "stall": (Break(), "IdleStall", None, False),
}  # fmt: skip


@pytest.fixture
def h2_reader(reader: Reader) -> Reader:
    """The same reader, over HTTP/2 with prior knowledge."""
    return Reader(reader.library, reader.style, {"http1": False, "http2": True})


async def fetch(reader: Reader, server: H2Server, dialect: Dialect, policy: Any) -> Any:
    """Stream 1 is another request, so that ours is 3."""
    return await reader.fetch(server.url + PATHS[dialect], policy, warm_up=f"{server.url}/warm-up")


@pytest.mark.parametrize("dialect", PATHS)
@pytest.mark.parametrize("name", CUTS)
async def test_a_cut_answer_arrives_whole(h2_reader: Reader, dialect: Dialect, name: str) -> None:
    fate, cause, _, shared = CUTS[name]
    async with H2Server(SPOKEN, [fate]) as server:
        got = await fetch(h2_reader, server, dialect, IMPATIENT if name == "stall" else AT_ONCE)
    assert got.error is None
    assert differences(read_turn(dialect, whole(SPOKEN, dialect)), read_turn(dialect, got.body)) == []
    assert (got.outcome.kind, got.outcome.causes) == ("recovered", (cause,))
    first, second = server.asked
    assert first == (1, 3)
    if cause != "IdleStall":  # whether httpx leaves such a connection in its pool is its own affair
        assert second == ((1, 5) if shared else (2, 1))


@pytest.mark.parametrize("name", CUTS)
async def test_what_cannot_go_on_is_refused_and_says_what_http2_said(h2_reader: Reader, name: str) -> None:
    fate, cause, said, _ = CUTS[name]
    policy = IMPATIENT.replace(max_recoveries=0) if name == "stall" else NO_MORE
    async with H2Server(SPOKEN, [fate]) as server:
        got = await fetch(h2_reader, server, "openai-chat", policy)
    assert isinstance(got.error, StreamCutError)
    assert isinstance(got.error, h2_reader.library.ReadError)
    assert str(got.error.cause) == cause
    assert getattr(got.error.__cause__, "__notes__", [None]) == [said]
    assert len(server.asked) == 1


async def test_what_the_server_refused_unprocessed_is_sent_as_new(h2_reader: Reader) -> None:
    async with H2Server(SPOKEN, [Break(events=None, reset=7)]) as server:
        got = await fetch(h2_reader, server, "openai-chat", AT_ONCE)
    assert got.body == whole(SPOKEN, "openai-chat")
    assert (got.outcome.causes, got.outcome.attempts) == ((), 2)
    assert server.asked == [(1, 3), (1, 5)]


async def test_a_request_that_came_too_late_goes_to_the_next_connection(h2_reader: Reader) -> None:
    fate = Break(events=None, goaway=0, last_stream=1, then="fin")
    async with H2Server(SPOKEN, [fate]) as server:
        got = await fetch(h2_reader, server, "anthropic", AT_ONCE)
    assert got.body == whole(SPOKEN, "anthropic")
    assert (got.outcome.kind, got.outcome.attempts) == ("complete", 1)
    assert server.asked == [(1, 3), (2, 1)]


async def test_a_goaway_before_the_headers_is_retried(h2_reader: Reader) -> None:
    async with H2Server(SPOKEN, [Break(events=None, goaway=0, then="fin")]) as server:
        got = await fetch(h2_reader, server, "openai-chat", AT_ONCE)
    assert got.body == whole(SPOKEN, "openai-chat")
    assert got.outcome.attempts == 2


async def test_a_refusal_that_stays_is_the_transports_own_error(h2_reader: Reader) -> None:
    async with H2Server(SPOKEN, [Break(events=None, reset=7)] * 3) as server:
        got = await fetch(h2_reader, server, "openai-chat", AT_ONCE)
    assert type(got.error) is h2_reader.library.RemoteProtocolError
    assert got.error.__notes__ == ["HTTP/2: RST_STREAM, REFUSED_STREAM"]
    assert len(server.asked) == 3


async def test_a_healthy_stream_passes_verbatim(h2_reader: Reader) -> None:
    async with H2Server(SPOKEN, []) as server:
        got = await fetch(h2_reader, server, "openai-chat", AT_ONCE)
    assert got.body == whole(SPOKEN, "openai-chat")
    assert (got.outcome.kind, server.asked) == ("complete", [(1, 3)])
