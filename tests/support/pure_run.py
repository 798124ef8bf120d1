"""Runs a driver without a loop, without sockets and without time: its effects against plain functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from seamstream.driver import Driver
from seamstream.driver.timers import NEVER
from seamstream.effects import (
    DONE,
    LOOKED,
    TIMED_OUT,
    Broke,
    Effect,
    Emit,
    Fail,
    Finish,
    Open,
    Opened,
    OpenFailed,
    Read,
    Relay,
    Result,
    Wait,
)
from seamstream.preparing import prepared_at_once
from seamstream.recovery.causes import BodyEnd
from seamstream.types import Event


@dataclass(slots=True)
class SyncRun:
    """What a reader got from a run. Exactly one of `finished`, `relayed` and `error` ends it."""

    data: bytes = b""
    events: list[Event] = field(default_factory=list)
    requests: list[Open] = field(default_factory=list)
    finished: bool = False
    relayed: Opened | None = None
    error: BaseException | None = None


Answer = tuple[Opened | OpenFailed, Iterable[bytes | Broke | Result]]


def run_sync(driver: Driver, transport: Callable[[Open], Answer], tick: Callable[[float], None]) -> SyncRun:
    """Run a driver without a loop. `transport` answers each request with a head and a body.

    A body gives chunks, then its end as a `Broke` (a clean one when it just stops); `TIMED_OUT` stands for
    silence until a timer is due. `tick` moves the driver's clock.
    """
    run, pieces, steps = SyncRun(), list[bytes](), driver.steps()
    answer: Opened | OpenFailed | None = None
    body: Iterator[bytes | Broke | Result] = iter(())
    result: Result | None = None
    while True:
        try:
            effect = steps.send(result)  # type: ignore[arg-type]
        except StopIteration:
            run.data = b"".join(pieces)
            return run
        result = DONE
        if isinstance(effect, Open):
            ready = prepared_at_once(effect)
            if isinstance(ready, OpenFailed):
                result = answer = ready
                continue
            run.requests.append(ready)
            answer, chunks = transport(ready)
            result, body = answer, iter(chunks)
        elif isinstance(effect, Read):
            result = _read_sync(driver, body, pieces, run, tick)
        elif isinstance(effect, Wait):
            tick(effect.seconds)
        else:
            _deliver_sync(effect, answer, pieces, run)


def _read_sync(
    driver: Driver,
    body: Iterator[bytes | Broke | Result],
    pieces: list[bytes],
    run: SyncRun,
    tick: Callable[[float], None],
) -> Result:
    intake = driver.intake
    for got in body:
        if not isinstance(got, bytes):
            break
        pieces.append(intake.receive(got))
        if intake.typed:
            run.events += intake.take_events()
        if intake.attention:
            return LOOKED
    else:
        return Broke(BodyEnd.CLEAN)
    if got is not TIMED_OUT:
        return got
    now = driver.clock.monotonic()
    wake_at = driver.timers.wake_at(now, intake.phase)
    if wake_at < NEVER:
        tick(max(0.0, wake_at - now))
    return TIMED_OUT


def _deliver_sync(
    effect: Effect, answer: Opened | OpenFailed | None, pieces: list[bytes], run: SyncRun
) -> None:
    if isinstance(effect, Emit):
        pieces.append(effect.data)
        run.events += effect.events
    elif isinstance(effect, Finish):
        run.finished = True
    elif isinstance(effect, Fail):
        run.error = effect.error
    elif isinstance(effect, Relay) and isinstance(answer, Opened):
        run.relayed = answer
