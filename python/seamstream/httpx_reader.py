"""The bodies that a reader of the httpx transports gets: pulled from a run, or only watched on their way.

Nothing runs between two pulls, so back-pressure and cancellation are the reader's own. While the reader does
not pull, a run's timers stand still.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import suppress
from typing import Any

from .alarm import Alarm
from .driver import Driver
from .driver.guard import WHOLE
from .driver.observing import Observer
from .effects import Broke, Effect, Emit, Fail
from .recovery.causes import BodyEnd
from .runner import AsyncRunner
from .sync_runner import SyncRunner
from .transports.httpx import HttpxUpstream
from .transports.httpx_ends import end_of_body


class RecoveredStream:
    """A run's bytes, asynchronously."""

    def __init__(self, runner: AsyncRunner, upstream: HttpxUpstream) -> None:
        self._runner = runner
        self._upstream = upstream
        self._timers = runner.driver.timers
        self._now = runner.driver.clock.monotonic
        self._over = False
        self._timers.pause(self._now())

    def __aiter__(self) -> RecoveredStream:
        return self

    async def __anext__(self) -> bytes:
        if self._over:
            raise StopAsyncIteration
        try:
            self._timers.resume(self._now())
            output = await self._runner.next()
            if isinstance(output, Emit):
                self._timers.pause(self._now())
                return output.data
            await self._runner.next()  # what a run does behind its end: forget its checkpoint, close
        except BaseException:
            await self.aclose()
            raise
        await self.aclose()
        raise _end(output)

    async def aclose(self) -> None:
        """The reader leaves, or has got everything."""
        if not self._over:
            self._over = True
            if is_whole(self._runner.driver):
                await self._runner.next()
            self._runner.cancel()
            await self._upstream.finish()


class SyncRecoveredStream:
    """A run's bytes, synchronously."""

    def __init__(self, runner: SyncRunner) -> None:
        self._runner = runner
        self._timers = runner.driver.timers
        self._now = runner.driver.clock.monotonic
        self._over = False
        self._timers.pause(self._now())

    def __iter__(self) -> Generator[bytes, None, None]:
        try:
            while not self._over and isinstance(output := self._pull(), Emit):
                yield output.data
        finally:
            self.close()

    def close(self) -> None:
        """The reader leaves, or has got everything."""
        if not self._over:
            self._over = True
            if is_whole(self._runner.driver):
                self._runner.next()
            self._runner.cancel()

    def _pull(self) -> Effect | None:
        self._timers.resume(self._now())
        output = self._runner.next()
        self._timers.pause(self._now())
        if not isinstance(output, Emit):
            self._runner.next()  # what a run does behind its end: close
        if isinstance(output, Fail):
            raise output.error
        return output


EndOf = Callable[[BaseException], BodyEnd]
"""How a body ended, by what its reader was raised."""


class ObservedStream:
    """An inner response's own bytes, told to an observer as they pass; asynchronously."""

    def __init__(self, response: Any, observer: Observer, end_of: EndOf = end_of_body) -> None:
        self._response = response
        self._end_of = end_of
        self._chunks: Any = response.stream.__aiter__()
        self._observer = observer
        self._now = observer.clock.monotonic
        self._alarm = Alarm(observer.clock, observer.intake, self._timer_due)
        observer.intake.wake, observer.intake.rearm = observer.look, self._alarm.arm

    def __aiter__(self) -> ObservedStream:
        return self

    async def __anext__(self) -> bytes:
        self._wait_begins()
        try:
            chunk: bytes = await self._chunks.__anext__()
        except StopAsyncIteration:
            self._observer.ended(Broke(BodyEnd.CLEAN))
            raise
        except Exception as error:
            self._observer.ended(Broke(self._end_of(error), error))
            raise
        finally:
            self._alarm.stop()
        _tell(self._observer, chunk)
        return chunk

    def leave(self) -> None:
        """The reader leaves: nothing more is watched."""
        self._alarm.stop()
        self._observer.left()

    async def aclose(self) -> None:
        self.leave()
        with suppress(RuntimeError):  # it is being read in another task, which the response's end ends
            if isinstance(self._chunks, AsyncGenerator):
                await self._chunks.aclose()
        await self._response.aclose()

    def _wait_begins(self) -> None:
        if not self._observer.over:
            self._observer.timers.resume(self._now())
            self._alarm.arm()

    def _timer_due(self) -> None:
        self._observer.timer()
        if not self._observer.over:
            self._alarm.arm()


class SyncObservedStream:
    """An inner response's own bytes, told to an observer as they pass; synchronously."""

    def __init__(self, response: Any, observer: Observer, end_of: EndOf = end_of_body) -> None:
        self._response = response
        self._end_of = end_of
        self._observer = observer
        observer.intake.wake = observer.look

    def __iter__(self) -> Generator[bytes, None, None]:
        try:
            for chunk in self._response.stream:
                _tell(self._observer, chunk)
                yield chunk
        except Exception as error:
            self._observer.ended(Broke(self._end_of(error), error))
            raise
        self._observer.ended(Broke(BodyEnd.CLEAN))

    def close(self) -> None:
        self._observer.left()
        self._response.close()


def is_whole(driver: Driver) -> bool:
    """The reader leaves with a whole answer, as SDKs do that know its end: the run has only to say so."""
    return driver.turn is None and bool(driver.intake.flags & WHOLE)


def _tell(observer: Observer, chunk: bytes) -> None:
    if not observer.over:
        observer.intake.receive(chunk)
        observer.timers.pause(observer.clock.monotonic())


def _end(output: Effect | None) -> BaseException:
    return output.error if isinstance(output, Fail) else StopAsyncIteration()
