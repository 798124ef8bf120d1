"""A run's timer on a clock: one for everything that may become due, and nothing per chunk."""

from __future__ import annotations

from collections.abc import Callable

from .clock import Clock, TimerHandle
from .driver.intake import Intake
from .driver.timers import NEVER


class Alarm:
    """Calls `fire` when something of a run is due. Set again only when it expires, or by `arm` if that is
    sooner.
    """

    __slots__ = ("_at", "_clock", "_fire", "_handle", "_intake")

    def __init__(self, clock: Clock, intake: Intake, fire: Callable[[], None]) -> None:
        self._clock = clock
        self._intake = intake
        self._fire = fire
        self._handle: TimerHandle | None = None
        self._at = NEVER

    @property
    def idle(self) -> bool:
        """No timer is set."""
        return self._handle is None

    def arm(self) -> None:
        """Make sure that a timer is set for what is due next."""
        now = self._clock.monotonic()
        at = self._intake.timers.wake_at(now, self._intake.phase)
        if self._handle is not None:
            if self._at <= at:
                return
            self._handle.cancel()
            self._handle = None
        if at < NEVER:
            self._at = at
            self._handle = self._clock.call_later(at - now, self._expired)

    def stop(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _expired(self) -> None:
        self._handle = None
        if self._intake.timers.due(self._clock.monotonic(), self._intake.phase) is None:
            self.arm()
        else:
            self._fire()
