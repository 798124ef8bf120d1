# ruff: noqa: SLF001
"""A response's body in our hands: observed, tapped, or held back at its end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from aiohttp import ClientResponse, StreamReader

from ..lease import Lease, Watcher
from .readers import FailingReader, HeldReader, ObservedReader, TappedReader, feed_data
from .stand_in import ObservingStandIn, StandIn


def observe_body(response: ClientResponse, feed: Callable[[bytes], bytes], watcher: Watcher) -> None:
    """Show a body to `feed` as it arrives; bytes that came together with the head first."""
    reader = response.content
    ended, error = reader._eof, reader._exception
    for data in list(reader._buffer):
        feed(data)
    if ended:
        watcher.body_ended()
    elif error is not None:
        watcher.body_broke(error)
    else:
        reader._protocol = cast("Any", ObservingStandIn(reader._protocol, feed, watcher))
        reader.__class__ = ObservedReader


class TappedBody:
    """The reader's side of a tapped response. Holds the reader strongly and the response not at all."""

    __slots__ = ("_reader", "_stand_in", "lease")

    def __init__(self, response: ClientResponse, feed: Callable[[bytes], bytes], watcher: Watcher) -> None:
        reader = self._reader = response.content
        self._stand_in = StandIn(reader._protocol, feed, watcher)
        self.lease = Lease(response._connection, watcher)
        if response._connection is not None:
            response._connection = cast("Any", self.lease)
        reader._protocol = cast("Any", self._stand_in)
        reader.__class__ = TappedReader

    @property
    def paused(self) -> bool:
        return self._stand_in._reading_paused

    @property
    def ended(self) -> bool:
        """aiohttp has already ended the body."""
        return self._reader._eof

    @property
    def error(self) -> BaseException | None:
        """aiohttp has already failed the body with this."""
        return self._reader._exception

    def take_received(self) -> bytes:
        """The bytes that came together with the response's head, to be transformed and pushed."""
        reader = self._reader
        data = b"".join(reader._buffer)[reader._buffer_offset :]
        reader._buffer.clear()
        reader.total_bytes -= reader._size
        reader._size = reader._buffer_offset = 0
        if reader._http_chunk_splits is not None:
            reader._http_chunk_splits.clear()
        return data

    def reopen(self, response: ClientResponse) -> None:
        """Undo an end or a failure that aiohttp has already put on the reader: the run goes on."""
        reader = self._reader
        reader._eof = False
        reader._exception = None
        if response._connection is None:
            response._connection = cast("Any", self.lease)
            response._closed = False
        if response._response_eof not in reader._eof_callbacks:
            reader._eof_callbacks.append(response._response_eof)

    def resume(self) -> None:
        """Let the transport read again if what made it pause has been taken out."""
        if self._reader._size < self._reader._low_water:
            self._stand_in.resume_reading()

    def detach_upstream(self) -> None:
        """Attempt 1 is over: nothing that its parser still says may reach the reader."""
        self._stand_in.feed = _discard
        self._stand_in.protocol = None

    def push(self, data: bytes) -> None:
        if data:
            over, self._reader._eof = self._reader._eof, False  # all of it may have come with the head
            feed_data(self._reader, data, len(data))
            self._reader._eof = over

    def end(self) -> None:
        """End of stream for the reader; what the parser still brings is dropped."""
        self._stand_in.feed = _discard
        if not self._reader._eof:
            StreamReader.feed_eof(self._reader)

    def fail(self, error: BaseException) -> None:
        """End with an exception; bytes that the reader has not got yet are handed out first."""
        self._stand_in.feed = _discard
        if not self._reader._buffer:
            StreamReader.set_exception(self._reader, error)
            return
        self._stand_in.failure = error
        self._reader.__class__ = FailingReader


def hold_end(response: ClientResponse) -> None:
    """Keep the connection out of the pool until `let_end`, even if the body ends before."""
    if not response.content._eof:
        response.content.__class__ = HeldReader


def let_end(response: ClientResponse) -> None:
    """The body has ended well: give the connection back."""
    reader = response.content
    callbacks, reader._eof_callbacks = reader._eof_callbacks, []
    for callback in callbacks:
        callback()


def put_back(response: ClientResponse, data: bytes) -> None:
    """Return bytes to the front of a body from which they were read, for the caller to read."""
    if data:
        reader = response.content
        reader._buffer.appendleft(data)
        reader._size += len(data)
        reader._cursor -= len(data)
        reader._eof_counter = 0


def _discard(_: bytes) -> bytes:
    return b""
