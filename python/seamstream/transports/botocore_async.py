"""aiobotocore as a run's upstream: botocore signs and sends, and below it is aiohttp."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from typing import Any

from ..clock import Clock
from ..effects import Open, Opened, OpenFailed
from .aiohttp import AiohttpUpstream
from .botocore_sync import elsewhere, is_failure_of_transport, may_be_sent_again


class BotocoreUpstream(AiohttpUpstream):
    """The attempts of one run. `send` makes each one's request and returns botocore's response."""

    def __init__(
        self, send: Callable[[Open], Awaitable[Any]], clock: Clock, media_types: Collection[str]
    ) -> None:
        self.whole_response: Any = None
        """The last response, as botocore has it."""

        async def send_below(effect: Open) -> Any:
            response = self.whole_response = await send(effect)
            return response.raw

        super().__init__(send_below, clock, media_types)

    async def open(self, effect: Open) -> Opened | OpenFailed:
        if effect.route is not None:
            return elsewhere()
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
