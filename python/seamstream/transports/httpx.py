"""httpx and httpx2 as a run's upstream: open a request, give chunks, report how a body ended.

httpx cannot take a read up again that was cancelled, so a read that a timer may have to interrupt runs in a
task of its own; all others are awaited directly.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Any, Final

from ..clock import Clock
from ..effects import Broke, Open, Opened, OpenFailed
from ..interrupter import Interrupter
from ..recovery.causes import BodyEnd
from .httpx_ends import end_of_body, is_failure_of_transport, may_be_sent_again, note_http2_end
from .httpx_exchange import (
    MAX_ERROR_BODY_BYTES,
    Requests,
    is_stream,
    opened,
    own_connection,
    tells_about_a_retry,
    with_body,
)
from .httpx_module import HttpxModule

ERROR_BODY_S: Final = 5.0
DOCUMENT_S: Final = 60.0
REUSE_GRACE_S: Final = 0.1
"""How long a connection may take to end a body whose answer is whole, to be used again."""


class PulledBody:
    """A response's body, chunk by chunk."""

    def __init__(self, response: Any) -> None:
        self.response = response
        self._chunks: Any = response.stream.__aiter__()
        self._reading: asyncio.Task[bytes | None] | None = None

    async def next_directly(self) -> bytes | None:
        """The next chunk, None at the end. Cancelling this ends the body."""
        if self._reading is not None:
            return await self.next()
        return await self._step()

    async def next(self) -> bytes | None:
        """The next chunk, None at the end. Cancelling this loses nothing: ask again."""
        if self._reading is None:
            self._reading = asyncio.ensure_future(self._step())
            self._reading.add_done_callback(_retrieve)
        await asyncio.wait({self._reading})
        reading, self._reading = self._reading, None
        return reading.result()

    def abandon(self) -> None:
        """Stop reading at once; `aclose` does the rest."""
        if self._reading is not None:
            self._reading.cancel()

    async def aclose(self, *, reuse: bool = False) -> None:
        """Without `reuse` the connection goes too, even if the body came to a proper end: a server that cuts
        an answer short may be about to close it.
        """
        self.abandon()
        if self._reading is not None:
            await asyncio.wait({self._reading})
            self._reading = None
        with suppress(Exception):  # a connection that is broken already has nothing more to say
            if isinstance(self._chunks, AsyncGenerator):
                await self._chunks.aclose()
        with suppress(Exception):
            if not reuse and (connection := own_connection(self.response)) is not None:
                await connection.aclose()
        with suppress(Exception):
            await self.response.aclose()

    async def _step(self) -> bytes | None:
        try:
            while not (chunk := await self._chunks.__anext__()):
                pass  # HTTP/2 has empty frames
        except StopAsyncIteration:
            return None
        return bytes(chunk)


class ReplayedBody:
    """A body whose beginning was read already."""

    def __init__(self, pieces: list[bytes], rest: PulledBody) -> None:
        self._pieces = pieces
        self._rest = rest

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            yield piece
        while (chunk := await self._rest.next()) is not None:
            yield chunk

    async def aclose(self) -> None:
        await self._rest.aclose(reuse=True)


class HttpxUpstream:
    """The attempts of one run. `undisturbed` says whether the next read may be awaited directly."""

    def __init__(
        self,
        module: HttpxModule,
        send: Callable[[Any], Awaitable[Any]],
        requests: Requests,
        clock: Clock,
        undisturbed: Callable[[], bool],
    ) -> None:
        self._module = module
        self._send = send
        self._requests = requests
        self._clock = clock
        self._undisturbed = undisturbed
        self._body: PulledBody | None = None
        self._left: PulledBody | None = None
        self.response: Any = None

    async def open(self, effect: Open) -> Opened | OpenFailed:
        try:
            response = self.response = await self._send(self._requests.make(effect))
        except Exception as error:
            if not is_failure_of_transport(error):
                raise
            note_http2_end(error)
            return OpenFailed(error, retryable=may_be_sent_again(error))
        media_types = self._requests.media_types
        if is_stream(response, media_types):
            head = opened(response, media_types)
            self._body = PulledBody(response) if head.stream else None
            return head
        return opened(response, media_types, await self._peek(response, effect))

    async def read(self) -> bytes | Broke:
        body = self._body
        if body is None:
            return Broke(BodyEnd.RESET)
        try:
            chunk = await (body.next_directly() if self._undisturbed() else body.next())
        except Exception as error:
            note_http2_end(error)
            return Broke(end_of_body(error), error)
        return Broke(BodyEnd.CLEAN) if chunk is None else chunk

    async def close(self, *, reuse: bool) -> None:
        body, response = self._body, self.response
        if body is not None and reuse:
            await self._read_for(body, REUSE_GRACE_S, MAX_ERROR_BODY_BYTES)
        self._body = self.response = None
        if body is not None:
            await body.aclose(reuse=reuse)
        elif response is not None:
            await response.aclose()

    def abandon(self) -> None:
        """Stop at once; `finish` waits for the end of it."""
        if self._body is not None:
            self._body.abandon()
            self._left, self._body = self._body, None

    async def finish(self) -> None:
        """Close what was abandoned."""
        body, self._left = self._left, None
        if body is not None:
            await body.aclose()

    def hand_over(self) -> Any:
        """The current response goes to the reader; from now on it is not ours to close."""
        response, self.response, self._body = self.response, None, None
        return response

    async def _peek(self, response: Any, effect: Open) -> bytes:
        """The beginning of an answer that is no stream, or the document that was asked for; left in place for
        whoever gets the response.
        """
        if not tells_about_a_retry(response, effect.attempt):
            return b""
        body = PulledBody(response)
        limit_s = DOCUMENT_S if effect.document_bytes else ERROR_BODY_S
        pieces = await self._read_for(body, limit_s, effect.document_bytes or MAX_ERROR_BODY_BYTES)
        replayed = self._module.async_stream(ReplayedBody)(pieces, body)
        self.response = with_body(self._module, response, replayed)
        return b"".join(pieces)

    async def _read_for(self, body: PulledBody, seconds: float, limit_bytes: int) -> list[bytes]:
        """Read for so long, or so much."""
        pieces, interrupter = list[bytes](), Interrupter[bytes | None]()
        timer = self._clock.call_later(seconds, interrupter.fire)
        try:
            with suppress(Exception):  # what came before it is what there is to know
                while sum(map(len, pieces)) < limit_bytes:
                    chunk = await interrupter.wait(body.next())
                    if chunk is None:
                        break
                    pieces.append(chunk)
        finally:
            timer.cancel()
        return pieces


def _retrieve(task: asyncio.Task[bytes | None]) -> None:
    """A read that nobody waits for any more may fail quietly."""
    if not task.cancelled():
        task.exception()
