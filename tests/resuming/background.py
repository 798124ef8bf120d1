"""A provider that keeps its responses, and one cut of such a response played to its end."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Literal

from seamstream.driver import Driver, RunSpec, Services
from seamstream.effects import TIMED_OUT, Broke, Open, Opened, Result
from seamstream.recovery.causes import BodyEnd
from seamstream.recovery.continuation.facts import Dialect
from seamstream.recovery.continuation.profiles import ProfileBook
from seamstream.recovery.policy import RecoveryPolicy
from seamstream.recovery.retry_budget import RetryBudget
from seamstream.testing.clock import FakeClock
from tests.corpus import STREAMS, CorpusStream
from tests.support.pure_run import SyncRun, run_sync
from tests.support.wire import frames

EVENT_STREAM = {"content-type": "text/event-stream"}
JSON = {"content-type": "application/json"}
TOO_OLD = b'{"error":{"message":"It can no longer be streamed.","type":"invalid_request_error","code":null}}'
GONE = b'{"error":{"message":"Response not found.","type":"invalid_request_error","code":null}}'
BACKGROUND = tuple(
    replace(stream, request={**stream.request, "background": True, "store": True})
    for stream in STREAMS
    if stream.dialect == "openai-responses"
)
INTERACTIONS = tuple(
    replace(stream, request={**stream.request, "store": True})
    for stream in STREAMS
    if stream.dialect == "gemini-interactions"
)
KEPT = (*BACKGROUND, *INTERACTIONS)
PATHS: dict[Dialect, str] = {
    "openai-responses": "/v1/responses",
    "gemini-interactions": "/v1beta/interactions",
}
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


def _data(frame: bytes) -> Any:
    data = b"".join(line[5:] for line in frame.splitlines() if line.startswith(b"data:"))
    try:
        return json.loads(data)
    except ValueError:
        return {}


def mark_of(frame: bytes) -> str | None:
    """What an event goes by, None for what is none."""
    data = _data(frame)
    mark = data.get("sequence_number", data.get("event_id")) if isinstance(data, dict) else None
    return None if mark is None else str(mark)


def events_after(stream: bytes, mark: str, shift: int = 0) -> list[bytes]:
    """The events of a stream that follow the one with that mark, or the one so many behind it."""
    marks, kept = _kept(stream)
    return kept[max(0, marks.index(mark) + 1 + shift) :]


@lru_cache(maxsize=64)
def _kept(stream: bytes) -> tuple[list[str | None], list[bytes]]:
    """All that has a mark, and the sign of the end; comments are kept by nobody."""
    kept = [frame for frame in frames(stream) if mark_of(frame) is not None or b"[DONE]" in frame]
    return [mark_of(frame) for frame in kept], kept


def whole_of(stream: bytes) -> Any:
    """The response, as its server has it when it is over."""
    events = [_data(frame) for frame in _kept(stream)[1]]
    last = next(event for event in reversed(events) if event)
    if "response" in last:
        return last["response"]
    noun = "content" if any("content" in event for event in events) else "step"
    said = [
        _step(noun, events, event["index"]) for event in events if event.get("event_type") == f"{noun}.start"
    ]
    return {**last["interaction"], "outputs" if noun == "content" else "steps": said}


def _step(noun: str, events: list[Any], index: int) -> Any:
    """A step with all that its deltas brought."""
    own = [event for event in events if event.get("index") == index]
    step, deltas = dict(own[0][noun]), [event["delta"] for event in own if "delta" in event]
    text = "".join(delta.get("text") or delta.get("content", {}).get("text", "") for delta in deltas)
    parts = [{"type": "text", "text": text}]
    if step["type"] == "function_call":
        arguments = "".join(delta["arguments"] for delta in deltas)
        return {**step, "arguments": json.loads(arguments or "{}")}
    if step["type"] == "text":
        return {**step, "text": text}
    if step["type"] == "thought":
        signed = {delta["type"]: delta for delta in deltas}.get("thought_signature", {})
        return {**step, "summary": parts, **{k: v for k, v in signed.items() if k == "signature"}}
    return {**step, "content": parts} if step["type"] == "model_output" else step


def play(
    stream: CorpusStream,
    cut: Break,
    *,
    gone: bool = False,
    polls: bool = False,
    hangs: bool = False,
    other: CorpusStream | None = None,
    policy: RecoveryPolicy | None = None,
) -> Played:
    """One run of `stream`. Its provider may know nothing of it any more (`gone`), have it only as a whole
    (`polls`), that of `other` even, or fall silent behind two events of a stream that is taken up (`hangs`).
    """
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
        if not route.query:
            body = json.dumps(whole_of((other or stream).data)).encode()
            return Opened(200, JSON, False, b"{}" if cut.missing else body), iter(())
        if polls or other is not None:
            return Opened(400, JSON, False, TOO_OLD), iter(())
        _, (_, after) = route.query
        body = b"".join(events_after(stream.data, after, cut.missing - cut.overlap))
        if hangs:
            return Opened(200, EVENT_STREAM, True), _broken(body, len(b"".join(frames(body)[:2])), "stall")
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
        path=PATHS[stream.dialect],
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
