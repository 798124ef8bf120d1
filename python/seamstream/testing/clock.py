"""A clock that stands still until a test moves it, for pure code and for asyncio alike."""

from __future__ import annotations

import asyncio
import heapq
import itertools
import random
from collections.abc import Callable


class FakeTimer:
    """A timer of a FakeClock."""

    __slots__ = ("callback", "cancelled", "deadline")

    def __init__(self, deadline: float, callback: Callable[[], None]) -> None:
        self.deadline = deadline
        self.callback = callback
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


class FakeClock:
    """A `seamstream.clock.Clock` under the test's control; random numbers come from a seed, ids count up."""

    def __init__(self, *, monotonic: float = 1_000.0, wall: float = 1_772_445_600.0, seed: int = 0) -> None:
        self._now = monotonic
        self._wall_offset = wall - monotonic
        self._random = random.Random(seed)
        self._numbers = itertools.count(1)
        self._order = itertools.count()
        self._timers: list[tuple[float, int, FakeTimer]] = []

    def monotonic(self) -> float:
        return self._now

    def wall(self) -> float:
        return self._now + self._wall_offset

    def random(self) -> float:
        return self._random.random()

    def uuid(self) -> str:
        return f"{next(self._numbers):032x}"

    def call_later(self, seconds: float, callback: Callable[[], None]) -> FakeTimer:
        timer = FakeTimer(self._now + max(0.0, seconds), callback)
        heapq.heappush(self._timers, (timer.deadline, next(self._order), timer))
        return timer

    async def sleep(self, seconds: float) -> None:
        woken = asyncio.Event()
        timer = self.call_later(seconds, woken.set)
        try:
            await woken.wait()
        finally:
            timer.cancel()

    def block(self, seconds: float) -> None:
        """A wait of code without an event loop: time moves by itself."""
        self.tick(seconds)

    @property
    def pending(self) -> tuple[float, ...]:
        """Seconds from now to each timer that is set, soonest first."""
        return tuple(
            sorted(deadline - self._now for deadline, _, timer in self._timers if not timer.cancelled)
        )

    def tick(self, seconds: float) -> None:
        """Move time and run the timers that fall due, for code that needs no event loop."""
        end = self._now + seconds
        while self._fire_next(end):
            pass
        self._now = end

    async def advance(self, seconds: float) -> None:
        """Move time; after each timer the event loop runs on, so that tasks may set new timers."""
        end = self._now + seconds
        await settle()
        while self._fire_next(end):
            await settle()
        self._now = end
        await settle()

    def _fire_next(self, end: float) -> bool:
        while self._timers and self._timers[0][0] <= end:
            deadline, _, timer = heapq.heappop(self._timers)
            if timer.cancelled:
                continue
            self._now = max(self._now, deadline)
            timer.cancelled = True
            timer.callback()
            return True
        return False


async def settle(rounds: int = 20) -> None:
    """Let every task that can run do so. Each round runs what the round before made ready."""
    for _ in range(rounds):
        await asyncio.sleep(0)
