"""aiobotocore as a run's upstream: botocore signs and sends, and below it is aiohttp."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from typing import Any

from ..clock import Clock
from ..effects import Emit, Fail, Open, Opened, OpenFailed
from ..errors import ConfigurationError
from ..runner import AsyncRunner
from .aiohttp import AiohttpUpstream
from .botocore_sync import is_failure_of_transport, may_be_sent_again


class BotocoreUpstream(AiohttpUpstream):
    """The attempts of one run. `send` makes each one's request and returns botocore's response."""

    def __init__(
        self, send: Callable[[Open], Awaitable[Any]], clock: Clock, media_types: Collection[str]
    ) -> None:
        self.whole_response: Any = None
        """The last response, as botocore has it."""

        async def send_below(effect: Open) -> Any:
            response = self.whole_response = await send(effect)
            if not hasattr(response.raw, "content"):
                raise ConfigurationError("only aiobotocore's sessions over aiohttp can be recovered")
            return response.raw

        super().__init__(send_below, clock, media_types)

    async def open(self, effect: Open) -> Opened | OpenFailed:
        try:
            return await super().open(effect)
        except Exception as error:
            if not is_failure_of_transport(error):
                raise
            return OpenFailed(error, retryable=may_be_sent_again(error))

    def hand_over_if_open(self) -> None:
        """The current response, if there is one, goes to the reader."""
        if self.response is not None:
            self.hand_over()


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
            self._runner.cancel()


class AsyncRaw:
    """What stands for aiohttp's response where aiobotocore reads its event stream."""

    def __init__(self, chunks: Any) -> None:
        self._chunks = chunks

    @property
    def content(self) -> AsyncRaw:
        return self

    async def iter_chunks(self) -> AsyncIterator[tuple[bytes, bool]]:
        """As aiohttp gives them."""
        async for chunk in self._chunks:
            yield chunk, True

    def close(self) -> None:
        """The reader leaves."""
        self._chunks.close()


class AsyncWatched:
    """aiohttp's response as something to look on at."""

    def __init__(self, raw: Any) -> None:
        self._raw = raw
        self.stream = raw.content.iter_any()

    async def aclose(self) -> None:
        self._raw.close()
