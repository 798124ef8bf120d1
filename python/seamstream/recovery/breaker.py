"""One target's circuit breaker: after failures in a row, or in most attempts, it is left alone for a while,
and then tried by one attempt before the others follow.

A failure is an attempt that brought no content because the target could not be reached or said that it
cannot serve. A stream that was cut after it had begun is none: the target answers. Times are the caller's
monotonic clock.
"""

from __future__ import annotations

import enum
import threading
from collections import deque
from typing import Final

FAILURES_IN_A_ROW: Final = 5
WINDOW_S: Final = 10.0
WINDOW_ATTEMPTS: Final = 20
FAILURE_RATIO: Final = 0.5
OPEN_S: Final = 5.0
MAX_OPEN_S: Final = 60.0
PROBE_S: Final = 30.0
"""A probe of which nothing was heard for so long no longer keeps the next one off."""
MAX_RESULTS: Final = 1024


class BreakerState(enum.Enum):
    """Closed: all may pass. Open: nobody. Half-open: one attempt, as a probe."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


class Breaker:
    """Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._results: deque[tuple[float, bool]] = deque(maxlen=MAX_RESULTS)
        self._in_a_row = 0
        self._opened_at: float | None = None
        self._open_s = OPEN_S
        self._probe_at: float | None = None

    def state(self, now: float) -> BreakerState:
        with self._lock:
            return self._state(now)

    def allows(self, now: float) -> bool:
        """May an attempt be sent now? Half-open: while no probe is under way."""
        with self._lock:
            return self._allows(now)

    def admit(self, now: float) -> bool:
        """An attempt wants to be sent. In the half-open state the first becomes the probe."""
        with self._lock:
            allowed = self._allows(now)
            if allowed and self._opened_at is not None:
                self._probe_at = now
            return allowed

    def succeeded(self, now: float) -> None:
        """An attempt brought content, or an answer that shows the target serving."""
        with self._lock:
            self._in_a_row = 0
            self._results.append((now, False))
            if self._opened_at is not None:
                self._results.clear()
                self._opened_at, self._probe_at, self._open_s = None, None, OPEN_S

    def failed(self, now: float) -> None:
        """An attempt brought nothing."""
        with self._lock:
            self._in_a_row += 1
            self._results.append((now, True))
            state = self._state(now)
            if state is BreakerState.HALF_OPEN:
                self._open_s = min(2.0 * self._open_s, MAX_OPEN_S)
            if state is BreakerState.HALF_OPEN or (state is BreakerState.CLOSED and self._is_bad(now)):
                self._opened_at, self._probe_at = now, None

    def abandoned(self) -> None:
        """The probe ended without saying anything about the target."""
        with self._lock:
            self._probe_at = None

    def _state(self, now: float) -> BreakerState:
        if self._opened_at is None:
            return BreakerState.CLOSED
        return BreakerState.OPEN if now < self._opened_at + self._open_s else BreakerState.HALF_OPEN

    def _allows(self, now: float) -> bool:
        state = self._state(now)
        if state is BreakerState.HALF_OPEN:
            return self._probe_at is None or now >= self._probe_at + PROBE_S
        return state is BreakerState.CLOSED

    def _is_bad(self, now: float) -> bool:
        while self._results and self._results[0][0] < now - WINDOW_S:
            self._results.popleft()
        if self._in_a_row >= FAILURES_IN_A_ROW:
            return True
        failures = sum(failed for _, failed in self._results)
        return len(self._results) >= WINDOW_ATTEMPTS and failures >= FAILURE_RATIO * len(self._results)
