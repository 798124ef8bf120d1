"""Performs a driver's effects: `AsyncRunner` with asyncio, `run_sync` against plain functions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

from .alarm import Alarm
from .driver import Driver
from .driver.attempting import warn
from .driver.timers import NEVER, Due
from .effects import (
    DONE,
    LOOKED,
    TIMED_OUT,
    Broke,
    Close,
    Effect,
    Emit,
    Fail,
    Finish,
    Forget,
    Open,
    Opened,
    OpenFailed,
    Put,
    Read,
    Relay,
    Result,
    StillOpening,
    Wait,
)
from .interrupter import Interrupter
from .preparing import prepared, prepared_at_once
from .recovery.causes import BodyEnd
from .types import Event

_FOR_THE_READER = (Emit, Relay, Finish, Fail)


class Upstream(Protocol):
    """One transport's side of a run: at most one attempt is open at a time."""

    async def open(self, effect: Open) -> Opened | OpenFailed: ...
    async def read(self) -> bytes | Broke: ...
    async def close(self, *, reuse: bool) -> None: ...
    def abandon(self) -> None:
        """Drop the current attempt at once."""


class Saver(Protocol):
    """Where a run's checkpoints go. What is done "soon" must not hold up the stream."""

    def put_soon(self, driver: Driver) -> None: ...
    def forget_soon(self) -> None: ...
    def cancel(self) -> None: ...
    async def flush(self) -> None:
        """Wait until the store has what it was given; raises only if the policy wants that."""


class AsyncRunner:
    """Runs one driver, pulled by its reader: nothing happens between two calls of `next`."""

    def __init__(self, driver: Driver, upstream: Upstream, saver: Saver | None = None) -> None:
        self.driver = driver
        self.upstream = upstream
        self.steps = driver.steps()
        self.saver = saver
        self._result: Result | None = None
        self._reading = False
        self._opening: asyncio.Task[Opened | OpenFailed] | None = None
        self._interrupter = Interrupter[object]()
        self._alarm = Alarm(driver.clock, driver.intake, self._timer_due)

    async def carry_on(self, effect: Effect) -> None:
        """Perform an effect that came up while somebody else ran the generator."""
        self._result = await self._perform(effect)

    async def next(self, *, stop_at_read: bool = False) -> Effect | None:
        """The next effect that is for the reader; None when the run is over."""
        self.driver.intake.rearm = self._alarm.arm
        while True:
            if self._reading and (output := await self._read()) is not None:
                return output
            if self._reading:
                continue
            try:
                effect = self.steps.send(self._result)  # type: ignore[arg-type]
            except StopIteration:
                self._alarm.stop()
                return None
            self._result = DONE
            if isinstance(effect, _FOR_THE_READER) or (stop_at_read and isinstance(effect, Read)):
                return effect
            if isinstance(effect, Read):
                self._reading = True
            else:
                self._result = await self._perform(effect)

    def store_soon(self, effect: Put | Forget) -> None:
        """Hand a checkpoint, or its end, to the store."""
        if self.saver is None:
            return
        if isinstance(effect, Put):
            self.saver.put_soon(self.driver)
        else:
            self.saver.forget_soon()

    def end_at_once(self) -> None:
        """The reader leaves with the whole answer and does not wait: the run has only to say so."""
        effect = self.steps.send(LOOKED)
        while not isinstance(effect, _FOR_THE_READER):
            if isinstance(effect, Put | Forget):
                self.store_soon(effect)
            elif isinstance(effect, Close):
                self.upstream.abandon()
            effect = self.steps.send(DONE)

    def cancel(self) -> None:
        """The reader has left: drop everything at once, store writes apart."""
        self._alarm.stop()
        if self._opening is not None:
            self._opening.cancel()
        self.upstream.abandon()
        self.steps.close()

    def _timer_due(self) -> None:
        """End the wait, unless what is due needs no reader: the read of some transports cannot be taken up
        again.
        """
        driver = self.driver
        now = driver.clock.monotonic()
        while (due := driver.timers.due(now, driver.intake.phase)) is not None:
            if due is Due.WARN:
                warn(driver)
            elif due is Due.CHECKPOINT and driver.spec.policy.on_store_error != "fail":
                driver.timers.checkpoint_at = now
                self.store_soon(Put())
            else:
                self._interrupter.fire()
                return
        self._alarm.arm()

    async def _read(self) -> Emit | None:
        """Take one chunk past the generator, or a result for it (then `_reading` is over)."""
        intake = self.driver.intake
        if not intake.attention:
            if self._alarm.idle:
                self._alarm.arm()
            got = await self._interrupter.wait(self.upstream.read())
            if isinstance(got, bytes):
                out = intake.receive(got)
                if intake.typed:
                    return intake.output(b"")
                return Emit(out) if out else None
            self._result = got if isinstance(got, Broke) else TIMED_OUT
        else:
            self._result = LOOKED
        self._reading = False
        return None

    async def _perform(self, effect: Effect) -> Result:
        if isinstance(effect, Open | StillOpening):
            return await self._open(effect)
        if isinstance(effect, Wait):
            await self.driver.clock.sleep(effect.seconds)
        elif isinstance(effect, Close):
            await self._close(reuse=effect.reuse)
        elif isinstance(effect, Put | Forget):
            self.store_soon(effect)
            if self.saver is not None and self.driver.spec.policy.on_store_error == "fail":
                await self.saver.flush()
        return DONE

    async def _open(self, effect: Open | StillOpening) -> Result:
        """The first attempt is opened in its caller's own task; later ones beside it, so that a reader is
        kept alive.
        """
        if isinstance(effect, Open):
            if effect.attempt == 1:
                return await self._open_first(effect)
            self._opening = asyncio.ensure_future(self._send(effect))
        opening = self._opening
        if opening is None:
            raise RuntimeError("no request is being sent")
        self._alarm.arm()
        if await self._interrupter.wait(asyncio.wait({opening})) is None:
            return TIMED_OUT
        self._opening = None
        return opening.result()

    async def _open_first(self, effect: Open) -> Result:
        limit_s = self.driver.spec.policy.first_content_s
        timer = self.driver.clock.call_later(limit_s, self._interrupter.fire)
        try:
            opened = await self._interrupter.wait(self._send(effect))
        finally:
            timer.cancel()
        if isinstance(opened, Opened | OpenFailed):
            return opened
        return OpenFailed(self.driver.spec.timeout_error(f"no answer within {limit_s:g} s"))

    async def _send(self, effect: Open) -> Opened | OpenFailed:
        ready = await prepared(effect, self.driver.clock)
        return ready if isinstance(ready, OpenFailed) else await self.upstream.open(ready)

    async def _close(self, *, reuse: bool) -> None:
        if self._opening is not None:
            self._opening.cancel()
            await asyncio.wait({self._opening})
            self._opening = None
        await self.upstream.close(reuse=reuse)


# ---------------------------------------------------------------- the synchronous twin


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
