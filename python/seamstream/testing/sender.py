"""Sends a reply as far as its fault lets it, in writes of a chosen size, and ends it as the fault says."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from ..clock import Clock
from .exchange import Exchange
from .faults import Ending
from .model import Reply
from .vendor_errors import DONE, error_event, keep_alive_event
from .wire import Compressor, Wire


@dataclass(frozen=True, slots=True)
class Delivery:
    """How body bytes are cut into socket writes: by size, or else so many events to a write."""

    write_bytes: int | None = None
    events_per_write: int = 1
    pause_s: float = 0.0
    """Between two writes."""
    gzip: Literal["never", "asked", "always"] = "never"

    def compresses(self, accept_encoding: str) -> bool:
        return self.gzip == "always" or (self.gzip == "asked" and "gzip" in accept_encoding)

    def writes(self, events: list[bytes], body: bytes, cut: int) -> Iterator[bytes]:
        """The first `cut` bytes of the body, as the pieces that are written."""
        if self.write_bytes is not None or not events:
            size = self.write_bytes or len(body) or 1
            yield from (body[at : min(at + size, cut)] for at in range(0, cut, size))
            return
        at = 0
        for first in range(0, len(events), self.events_per_write):
            piece = b"".join(events[first : first + self.events_per_write])
            if at < cut:
                yield piece[: cut - at]
            at += len(piece)


class Sender:
    """One reply on its way to the client. `send` and `end` tell whether the connection may be used again."""

    def __init__(
        self, wire: Wire, exchange: Exchange, delivery: Delivery, clock: Clock, *, reusable: bool
    ) -> None:
        self._wire = wire
        self._clock = clock
        self._exchange = exchange
        self._delivery = delivery
        self._reusable = reusable
        wants = exchange.headers.get("accept-encoding", "")
        self._compressor = Compressor() if delivery.compresses(wants) else None

    async def send(self, reply: Reply) -> bool:
        """The whole reply, or its beginning and the fault's ending. A fault leaves HTTP errors alone."""
        fault, body = self._exchange.fault, reply.payload
        cut = fault.cut_at(reply.events, body) if reply.status == 200 else len(body)
        pieces = list(self._delivery.writes(reply.events, body, cut))
        await self._head(reply, length=self._announced(reply))
        for number, piece in enumerate(pieces, 1):
            if number > 1 and self._delivery.pause_s:
                await self._clock.sleep(self._delivery.pause_s)
            await self._piece(piece, torn=fault.torn_chunk and number == len(pieces))
        if reply.status != 200:
            return await self._finish(Ending.COMPLETE)
        return await self.end(self._error_event())

    async def end(self, last: bytes) -> bool:
        """The fault's ending, behind `last`."""
        await self._piece(last)
        return await self._finish(self._exchange.fault.ending)

    async def _finish(self, ending: Ending) -> bool:
        wire = self._wire
        if ending in (Ending.COMPLETE, Ending.CLEAN_END):
            if self._compressor is not None:
                await wire.piece(self._compressor.end())
            await wire.end()
            self._exchange.finished = True
            if ending is Ending.CLEAN_END:
                wire.fin()
            return self._reusable and ending is Ending.COMPLETE
        if ending is Ending.BAD_CHUNK_SIZE:
            await wire.bad_chunk_size()
        self._exchange.finished = ending in (Ending.FIN, Ending.RESET)
        if ending is Ending.FIN:
            wire.fin()
        elif ending is Ending.RESET:
            await wire.reset()
        else:
            await self._stay()
        return False

    async def _stay(self) -> None:
        """Keep the connection open; this ends when the client leaves, or the server, which cancels it."""
        fault, dialect = self._exchange.fault, self._exchange.dialect
        while fault.ending is Ending.STALL_WITH_PINGS and dialect is not None:
            await self._clock.sleep(fault.ping_every_s)
            await self._wire.piece(self._encoded(keep_alive_event(dialect)))
            self._exchange.pings += 1
        await asyncio.Event().wait()

    async def _head(self, reply: Reply, *, length: int) -> None:
        headers = dict(reply.headers)
        if self._compressor is not None:
            headers["content-encoding"] = "gzip"
        self._exchange.status = reply.status
        self._exchange.response_headers = headers
        await self._wire.head(reply.status, headers, length=length, reusable=self._reusable)

    async def _piece(self, data: bytes, *, torn: bool = False) -> None:
        if data:
            await self._wire.piece(self._encoded(data), torn=torn)
            self._exchange.sent += data

    def _announced(self, reply: Reply) -> int:
        """The Content-Length that the whole reply would have."""
        body = reply.payload
        if self._compressor is None:
            return len(body) + len(self._error_event())
        trial = Compressor()
        pieces = [*self._delivery.writes(reply.events, body, len(body)), self._error_event()]
        return sum(len(trial.piece(piece)) for piece in pieces if piece) + len(trial.end())

    def _encoded(self, data: bytes) -> bytes:
        return data if self._compressor is None else self._compressor.piece(data)

    def _error_event(self) -> bytes:
        fault, dialect = self._exchange.fault, self._exchange.dialect
        if fault.error_status is None or dialect is None:
            return b""
        return error_event(dialect, fault.error_status) + (DONE if fault.then_done else b"")
