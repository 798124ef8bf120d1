"""Performs a driver's effects with asyncio."""

from __future__ import annotations

import asyncio
from typing import Protocol

from .alarm import Alarm
from .driver import Driver
from .driver.attempting import warn
from .driver.timers import Due
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
from .preparing import prepared

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
