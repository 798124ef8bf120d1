"""A provider that runs responses in the background, and one cut of such a response played to its end."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Literal

from seamstream.driver import Driver, RunSpec, Services
from seamstream.effects import TIMED_OUT, Broke, Open, Opened, Result
from seamstream.recovery.causes import BodyEnd
from seamstream.recovery.continuation.profiles import ProfileBook
from seamstream.recovery.policy import RecoveryPolicy
from seamstream.recovery.retry_budget import RetryBudget
from seamstream.testing.clock import FakeClock
from tests.corpus import STREAMS, CorpusStream
from tests.support.pure_run import SyncRun, run_sync
from tests.support.wire import frames

EVENT_STREAM = {"content-type": "text/event-stream"}
JSON = {"content-type": "application/json"}
GONE = b'{"error":{"message":"Response not found.","type":"invalid_request_error","code":null}}'
BACKGROUND = tuple(
    replace(stream, request={**stream.request, "background": True, "store": True})
    for stream in STREAMS
    if stream.dialect == "openai-responses"
)
Ending = Literal["reset", "early end", "stall", "malformed frame"]
ENDINGS: tuple[Ending, ...] = ("reset", "early end", "stall", "malformed frame")


@dataclass(frozen=True)
class Break:
    """Where the first stream, and maybe the resumed one, breaks. `overlap`: events that are sent again."""

    offset: int
    ending: Ending = "reset"
    second: int | None = None
    overlap: int = 0
    missing: int = 0
    reader: Literal["bytes", "typed"] = "bytes"


@dataclass
class Played:
    """A run that is over, and what its provider was asked for."""

    run: SyncRun
    driver: Driver
    routes: list[str] = field(default_factory=list)

    @property
    def joins(self) -> tuple[str, ...]:
        assert self.driver.turn is not None
        return self.driver.turn.outcome.joins


def number_of(frame: bytes) -> int | None:
    """The sequence number of an event, None for what is none."""
    data = b"".join(line[5:] for line in frame.splitlines() if line.startswith(b"data:"))
    try:
        return int(json.loads(data)["sequence_number"])
    except (ValueError, KeyError):
        return None


def events_after(stream: bytes, number: int) -> list[bytes]:
    """The events of a stream that follow the one with that number."""
    return [frame for known, frame in _numbered(stream) if known > number]


@lru_cache(maxsize=64)
def _numbered(stream: bytes) -> list[tuple[int, bytes]]:
    numbers = [(number_of(frame), frame) for frame in frames(stream)]
    return [(number, frame) for number, frame in numbers if number is not None]


def play(
    stream: CorpusStream, cut: Break, *, gone: bool = False, policy: RecoveryPolicy | None = None
) -> Played:
    """One run of `stream`, whose provider knows nothing of it any more when it is `gone`."""
    clock, routes = FakeClock(), list[str]()

    def transport(effect: Open) -> tuple[Opened, Iterator[bytes | Broke | Result]]:
        route = effect.route
        if route is None and effect.attempt > 1:
            return Opened(200, EVENT_STREAM, True), iter((stream.data,))
        if route is None:
            return Opened(200, EVENT_STREAM, True), _broken(stream.data, cut.offset, cut.ending)
        routes.append(f"{route.method} {route.path}?{'&'.join('='.join(item) for item in route.query)}")
        if gone:
            return Opened(404, JSON, False, GONE), iter(())
        after = int(dict(route.query)["starting_after"])
        body = b"".join(events_after(stream.data, after - cut.overlap + cut.missing))
        if cut.second is None or len(routes) > 1:
            return Opened(200, EVENT_STREAM, True), iter((body,))
        place = len(body) * cut.second // 1000
        return Opened(200, EVENT_STREAM, True), _broken(body, place, "early end")

    driver = Driver(spec_of(stream, cut.reader, policy), services(clock))
    return Played(run_sync(driver, transport, clock.tick), driver, routes)


def spec_of(
    stream: CorpusStream, reader: Literal["bytes", "typed"], policy: RecoveryPolicy | None
) -> RunSpec:
    return RunSpec(
        run_id="run",
        dialect=stream.dialect,
        target="http://provider.test:80",
        host="provider.test",
        reader=reader,
        policy=policy or RecoveryPolicy(),
        mode="recover",
        body=json.dumps(stream.request).encode(),
        path="/v1/responses",
    )


def services(clock: FakeClock) -> Services:
    return Services(clock, profiles=ProfileBook(), budget=RetryBudget())


def _broken(body: bytes, place: int, ending: Ending) -> Iterator[bytes | Broke | Result]:
    yield body[: place // 2]
    yield body[place // 2 : place]
    if ending == "reset":
        yield Broke(BodyEnd.RESET, ConnectionResetError(104, "reset"))
    elif ending == "malformed frame":
        yield Broke(BodyEnd.MALFORMED, ValueError("chunk size"))
    while ending == "stall":
        yield TIMED_OUT


def turn(played: Played) -> Any:
    """The turn that the run ended with."""
    assert played.driver.turn is not None
    return played.driver.turn
