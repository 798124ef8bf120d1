"""The only reader of time and randomness; everything else gets a `Clock`, so that no test has to wait."""

from __future__ import annotations

import asyncio
import random
import time
import uuid
from collections.abc import Callable
from typing import Protocol


class TimerHandle(Protocol):
    """A timer that has been set."""

    def cancel(self) -> None: ...


class Clock(Protocol):
    """Time, timers and chance. `monotonic` never goes back; `wall` is seconds since the epoch."""

    def monotonic(self) -> float: ...
    def wall(self) -> float: ...
    def random(self) -> float: ...
    def uuid(self) -> str: ...
    async def sleep(self, seconds: float) -> None: ...
    def call_later(self, seconds: float, callback: Callable[[], None]) -> TimerHandle: ...


class BlockingClock(Clock, Protocol):
    """A clock for code without an event loop."""

    def block(self, seconds: float) -> None: ...


class SystemClock:
    """The machine's clocks and asyncio's timers of the running loop."""

    __slots__ = ()

    def monotonic(self) -> float:
        return time.monotonic()

    def wall(self) -> float:
        return time.time()

    def random(self) -> float:
        return random.random()

    def uuid(self) -> str:
        return uuid.uuid4().hex

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def block(self, seconds: float) -> None:
        """Sleep, and this thread with it."""
        time.sleep(seconds)

    def call_later(self, seconds: float, callback: Callable[[], None]) -> TimerHandle:
        return asyncio.get_running_loop().call_later(seconds, callback)
