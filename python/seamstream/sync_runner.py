"""The runner for readers without an event loop: performs a driver's effects in the reader's own thread.

A blocked read cannot be woken by a timer here, so what is due is done when the next chunk has come or the
read's own timeout has passed: holds may last longer, limits are never shorter.
"""

from __future__ import annotations

from typing import Protocol

from .clock import BlockingClock
from .driver import Driver
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
    Open,
    Opened,
    OpenFailed,
    Read,
    Relay,
    Result,
    Wait,
)
from .preparing import prepared_at_once

_FOR_THE_READER = (Emit, Relay, Finish, Fail)


class SyncUpstream(Protocol):
    """One transport's side of a run: at most one attempt is open at a time."""

    def open(self, effect: Open) -> Opened | OpenFailed: ...
    def read(self) -> bytes | Broke: ...
    def close(self, *, reuse: bool) -> None: ...
    def abandon(self) -> None:
        """Drop the current attempt at once."""


class SyncRunner:
    """Runs one driver, pulled by its reader: nothing happens between two calls of `next`."""

    def __init__(self, driver: Driver, upstream: SyncUpstream, clock: BlockingClock) -> None:
        self.driver = driver
        self.upstream = upstream
        self.steps = driver.steps()
        self._clock = clock
        self._result: Result | None = None
        self._reading = False

    def next(self, *, stop_at_read: bool = False) -> Effect | None:
        """The next effect that is for the reader; None when the run is over."""
        while True:
            if self._reading:
                if (output := self._read()) is not None:
                    return output
                continue
            try:
                effect = self.steps.send(self._result)  # type: ignore[arg-type]
            except StopIteration:
                return None
            self._result = DONE
            if isinstance(effect, _FOR_THE_READER) or (stop_at_read and isinstance(effect, Read)):
                return effect
            if isinstance(effect, Read):
                self._reading = True
            else:
                self._result = self._perform(effect)

    def cancel(self) -> None:
        """The reader has left: drop everything at once."""
        self.upstream.abandon()
        self.steps.close()

    def _read(self) -> Emit | None:
        """Take one chunk past the generator, or a result for it (then `_reading` is over)."""
        intake = self.driver.intake
        if intake.attention:
            self._result = LOOKED
        elif self.driver.timers.due(self._clock.monotonic(), intake.phase) is not None:
            self._result = TIMED_OUT
        elif isinstance(got := self.upstream.read(), bytes):
            out = intake.receive(got)
            return Emit(out) if out else None
        else:
            self._result = got
        self._reading = False
        return None

    def _perform(self, effect: Effect) -> Result:
        if isinstance(effect, Open):
            ready = prepared_at_once(effect)
            return ready if isinstance(ready, OpenFailed) else self.upstream.open(ready)
        if isinstance(effect, Wait):
            self._clock.block(effect.seconds)
        elif isinstance(effect, Close):
            self.upstream.close(reuse=effect.reuse)
        return DONE
