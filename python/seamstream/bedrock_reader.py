"""The bytes that aiobotocore's event stream gets: pulled from a run, or only watched on their way.

botocore closes a stream without waiting, so leaving it must not need to.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from .driver.observing import Observer
from .effects import Emit, Fail
from .httpx_reader import ObservedStream, is_whole
from .runner import AsyncRunner
from .transports.aiohttp_internals import end_of_body, protocol_of
from .transports.botocore_async import AsyncWatched


class RecoveredChunks:
    """A run's bytes, pulled by its reader; while the reader does not pull, the run's timers stand still."""

    def __init__(self, runner: AsyncRunner) -> None:
        self._runner = runner
        self._timers = runner.driver.timers
        self._now = runner.driver.clock.monotonic
        self._over = False
        self._timers.pause(self._now())

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            while not self._over:
                self._timers.resume(self._now())
                output = await self._runner.next()
                self._timers.pause(self._now())
                if not isinstance(output, Emit):
                    await self._runner.next()  # what a run does behind its end: close
                    if isinstance(output, Fail):
                        raise output.error
                    return
                yield output.data
        finally:
            self.close()

    def close(self) -> None:
        """The reader leaves, or has got everything."""
        if not self._over:
            self._over = True
            if is_whole(self._runner.driver):
                self._runner.end_at_once()
            self._runner.cancel()


class WatchedChunks:
    """A response's own bytes, told to an observer as they pass."""

    def __init__(self, raw: Any, observer: Observer) -> None:
        self._raw = raw
        protocol = protocol_of(raw)
        self._observed = ObservedStream(
            AsyncWatched(raw), observer, lambda error: end_of_body(error, protocol)
        )

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._observed:
                yield chunk
        finally:
            self.close()

    def close(self) -> None:
        """The reader leaves, or has got everything."""
        self._observed.leave()
        self._raw.close()
