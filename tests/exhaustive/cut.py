"""One cut of one stream: sent through Splice, planner and driver by the synchronous runner, no sockets."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from seamstream.driver import Driver, RunSpec, Services
from seamstream.effects import TIMED_OUT, Broke, Open, Opened, Result
from seamstream.recovery.causes import BodyEnd
from seamstream.recovery.continuation.profile import Profile
from seamstream.recovery.continuation.profiles import ProfileBook
from seamstream.recovery.policy import RecoveryPolicy
from seamstream.recovery.retry_budget import RetryBudget
from seamstream.testing.clock import FakeClock
from seamstream.testing.render_bedrock import frame
from tests.corpus import CorpusStream
from tests.corpus.stream import Dialect
from tests.support.provider import Provider
from tests.support.pure_run import SyncRun, run_sync

Cause = Literal["reset", "early end", "stall", "malformed frame", "in-band error"]
ANYWHERE: tuple[Cause, ...] = ("reset", "early end", "stall", "malformed frame")
BOUNDARY_ONLY: Cause = "in-band error"

IN_BAND: dict[Dialect, bytes] = {
    "openai-chat": b'data: {"error":{"message":"Overloaded","type":"server_error","code":503}}\n\n',
    "openai-responses": b"event: error\n"
    b'data: {"type":"error","error":{"type":"server_error","code":"server_error","message":"Busy"}}\n\n',
    "anthropic": b"event: error\n"
    b'data: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n',
    "gemini-interactions": b"event: error\n"
    b'data: {"event_type":"error","error":{"code":"unavailable","message":"Busy"}}\n\n',
    "gemini": b'data: {"error":{"code":503,"message":"Overloaded","status":"UNAVAILABLE"}}\r\n\r\n',
    "bedrock": frame("serviceUnavailableException", {"message": "Busy"}, exception=True),
    "ollama": b'{"error":"llama runner process has terminated"}\n',
    "cohere": b"event: message-end\n"
    b'data: {"type":"message-end","delta":{"finish_reason":"ERROR","error":"worker lost"}}\n\n',
}
PROFILES: dict[str, tuple[Any, ...]] = {"prefill": ("prefill", "prompt"), "prompt": ("prompt",)}
SECOND: dict[Cause, Cause] = {
    "reset": "early end",
    "early end": "malformed frame",
    "malformed frame": "reset",
    "stall": "reset",
    "in-band error": "reset",
}
"""The cause of a second cut: not the first one again, as the same cut after the same content ends a run."""
POLICY = RecoveryPolicy()
STREAM_HEADERS = {"content-type": "text/event-stream"}


@dataclass(frozen=True)
class Cut:
    """Where and how an attempt breaks. `second` is where the next reply breaks again, in thousandths."""

    offset: int
    cause: Cause
    strategy: Literal["prefill", "prompt"] = "prefill"
    reader: Literal["bytes", "typed"] = "bytes"
    second: int | None = None
    rethinks: bool = False


@dataclass(frozen=True)
class Played:
    """A run that is over: what its reader got, its driver, and the replies of its provider."""

    stream: CorpusStream
    cut: Cut
    run: SyncRun
    driver: Driver
    replies: tuple[bytes, ...]


def play(stream: CorpusStream, cut: Cut) -> Played:
    """Run `stream` with that cut to its end."""
    clock, provider, replies = FakeClock(), Provider(stream, rethinks=cut.rethinks), list[bytes]()

    def transport(effect: Open) -> tuple[Opened, Iterator[bytes | Broke | Result]]:
        if effect.attempt == 1:
            return Opened(200, STREAM_HEADERS, True), _broken(stream, cut.cause, stream.data, cut.offset)
        status, body = provider.reply(effect.body)
        replies.append(body)
        if status != 200:
            return Opened(status, {"content-type": "application/json"}, False, body), iter(())
        if cut.second is None or effect.attempt > 2:
            return Opened(200, STREAM_HEADERS, True), iter((body,))
        place = len(body) * cut.second // 1000
        replies[-1] = body[:place]
        return Opened(200, STREAM_HEADERS, True), _broken(stream, SECOND[cut.cause], body, place)

    driver = Driver(spec_of(stream, cut), services_of(clock, cut))
    run = run_sync(driver, transport, clock.tick)
    return Played(stream, cut, run, driver, tuple(replies))


def spec_of(stream: CorpusStream, cut: Cut) -> RunSpec:
    return RunSpec(
        run_id="run",
        dialect=stream.dialect,
        target="http://provider.test:80",
        host="provider.test",
        reader=cut.reader,
        policy=POLICY,
        mode="recover",
        body=json.dumps(stream.request).encode(),
    )


def services_of(clock: FakeClock, cut: Cut) -> Services:
    return Services(clock, profiles=ProfileBook([Profile(PROFILES[cut.strategy])]), budget=RetryBudget())


def _broken(stream: CorpusStream, cause: Cause, body: bytes, place: int) -> Iterator[bytes | Broke | Result]:
    """`body` up to `place`, in one or two reads, and then what the cause looks like."""
    half = place // 2 if place % 2 else place
    yield body[:half]
    yield body[half:place]
    if cause == "in-band error":
        yield stream.broken_end or IN_BAND[stream.dialect]
    elif cause == "reset":
        yield Broke(BodyEnd.RESET, ConnectionResetError(104, "reset"))
    elif cause == "malformed frame":
        yield Broke(BodyEnd.MALFORMED, ValueError("chunk size"))
    while cause == "stall":
        yield TIMED_OUT
