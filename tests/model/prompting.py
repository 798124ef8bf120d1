"""Plays one cut whose rest is asked for by `prompt`, to three kinds of reader, and says what it was told."""

from __future__ import annotations

import enum
import json
from dataclasses import dataclass

import aiohttp

import seamstream

from .spoken import Dialect
from .tcp_proxy import CutProxy

COMMON_STOPS = {"stop": "end_turn", "length": "max_tokens"}
"""The chat dialect's words for how an answer ends, in those of typed events."""
BACKOFF = seamstream.BackoffPolicy(first_s=0.01, max_s=0.01)
STRICT = seamstream.RecoveryPolicy(backoff=BACKOFF)
BEST_EFFORT = seamstream.RecoveryPolicy(backoff=BACKOFF, seam="best_effort")


class Reader(enum.Enum):
    """Who reads, and which seams are good enough for it."""

    EVENTS = "typed events, strict"
    BYTES = "bytes, strict"
    LENIENT = "typed events, best effort"

    @property
    def policy(self) -> seamstream.RecoveryPolicy:
        return BEST_EFFORT if self is Reader.LENIENT else STRICT


class End(enum.StrEnum):
    """What became of a cut answer."""

    ANCHORED = "joined at an echo"
    UNANCHORED = "joined without an echo"
    RESTARTED = "restarted"
    FAILED = "failed honestly"


@dataclass(frozen=True, slots=True)
class Told:
    """All that the reader has: the text, the stop reason (none after a failure), and how it ended."""

    end: End
    text: str
    stop: str = ""


def profiles(dialect: Dialect) -> list[seamstream.Profile]:
    """llama.cpp would go on in a trailing assistant turn; here it must not."""
    return [seamstream.Profile(("prompt",), dialect=dialect.name)]


async def tell(
    reader: Reader, client: aiohttp.ClientSession, proxy: CutProxy, dialect: Dialect, request: bytes
) -> Told:
    """`client` is a plain one; the proxy has the cut in its script."""
    if reader is Reader.BYTES:
        return await _tell_bytes(proxy.url + dialect.path, dialect, request)
    body, url = json.loads(request), proxy.url + dialect.path
    async with seamstream.stream(
        client, url, json=body, policy=reader.policy, profiles=profiles(dialect)
    ) as run:
        text = ""
        async for event in run:
            if isinstance(event, seamstream.StreamReset):
                text = ""
            elif isinstance(event, seamstream.TextDelta):
                text += event.text
    assert text == run.turn.text
    joins = [seam.join for seam in run.turn.seams]
    assert len(joins) <= 1
    return Told(End.RESTARTED if not joins else _end(joins[0]), text, run.turn.stop_reason or "")


async def _tell_bytes(url: str, dialect: Dialect, request: bytes) -> Told:
    middleware = seamstream.RecoveryMiddleware(STRICT, profiles=profiles(dialect))
    headers, got, cut = {"Content-Type": "application/json"}, b"", None
    with seamstream.capture() as outcomes:
        async with aiohttp.ClientSession(middlewares=[middleware]) as session:
            try:
                async with session.post(url, data=request, headers=headers) as response:
                    async for data in response.content.iter_any():
                        got += data
            except seamstream.StreamCutError as error:
                cut = error
    (outcome,) = outcomes
    if cut is not None:
        assert outcome.kind == "truncated"
        assert cut.turn is not None
        return Told(End.FAILED, dialect.partial_text(got))
    answer = dialect.read(got)
    return Told(_end(outcome.joins[0]), answer.text, common_stop(answer.stop))


def common_stop(word: str) -> str:
    """A dialect's stop reason as typed events say it."""
    return COMMON_STOPS.get(word, word)


def _end(join: str) -> End:
    return {"anchored": End.ANCHORED, "unanchored": End.UNANCHORED}[join]
