# ruff: noqa: SLF001, ARG002
"""The only file that touches what aiohttp does not document.

A healthy stream must cost one call a chunk and no task, so bytes are transformed where aiohttp's parser feeds
the response's reader: the reader object keeps its identity (the parser, the response and the caller all hold
it) and is given a subclass without slots of its own; what it needs to know hangs on a stand-in for its
protocol. The response's connection is wrapped too, so that leaving the response in any way is noticed and
aiohttp's total timeout keeps watching over later attempts.

`problem` tells at import whether the installed aiohttp still works like that; if not, nobody may call the
rest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, cast

from aiohttp import (
    ClientMiddlewareType,
    ClientOSError,
    ClientPayloadError,
    ClientRequest,
    ClientResponse,
    ClientSession,
    ServerDisconnectedError,
    StreamReader,
    client_reqrep,
)
from aiohttp.http_exceptions import HttpProcessingError
from multidict import CIMultiDict, CIMultiDictProxy

from ..recovery.causes import BodyEnd
from .lease import Lease, Watcher

_CLOSED_BY_READER: Final = getattr(client_reqrep, "_CONNECTION_CLOSED_EXCEPTION", None)


class StandIn:
    """Takes the protocol's place at a tapped reader: `feed` transforms, flow control is forwarded and
    reported.

    `connected` stays true because the reader outlives attempt 1's connection. Forwarding only real changes
    spares aiohttp's parser an empty run for every read.
    """

    __slots__ = ("_reading_paused", "failure", "feed", "protocol", "watcher")

    connected = True

    def __init__(self, protocol: Any, feed: Callable[[bytes], bytes], watcher: Watcher) -> None:
        self.protocol = protocol
        self.feed = feed
        self.watcher = watcher
        self.failure: BaseException | None = None
        self._reading_paused = bool(protocol is not None and protocol._reading_paused)

    def pause_reading(self) -> None:
        if self._reading_paused:
            return
        self._reading_paused = True
        if self.protocol is not None:
            self.protocol.pause_reading()
        self.watcher.reading_paused()

    def resume_reading(self, resume_parser: bool = True) -> None:
        if not self._reading_paused:
            return
        self._reading_paused = False
        if self.protocol is not None and self.protocol.transport is not None:
            self.protocol.resume_reading()
        self.watcher.reading_resumed()


class ObservingStandIn(StandIn):
    """Takes the protocol's place at an observed reader, whose life is that of its connection."""

    __slots__ = ()

    @property
    def connected(self) -> bool:  # type: ignore[override]
        return bool(self.protocol.connected)


class TappedReader(StreamReader):
    """What the parser feeds is transformed before the caller can read it; ends and failures go to the
    watcher.
    """

    __slots__ = ()

    def feed_data(self, data: bytes, size: int = 0) -> bool:  # type: ignore[override,unused-ignore]
        out = self._protocol.feed(data)  # type: ignore[attr-defined]
        if out:
            _feed_data(self, out, len(out))
        return False

    def feed_eof(self) -> None:
        _watcher(self).body_ended()

    def set_exception(self, exc: BaseException, exc_cause: BaseException | None = None) -> None:
        if exc is _CLOSED_BY_READER:
            StreamReader.set_exception(self, exc)
            _watcher(self).reader_left()
        else:
            if exc_cause is not None and exc_cause is not exc:
                exc.__cause__ = exc_cause
            _watcher(self).body_broke(exc)


class ObservedReader(StreamReader):
    """The caller gets everything as stock aiohttp gives it; the watcher is told afterwards."""

    __slots__ = ()

    def feed_data(self, data: bytes, size: int = 0) -> bool:  # type: ignore[override,unused-ignore]
        _feed_data(self, data, len(data))
        self._protocol.feed(data)  # type: ignore[attr-defined]
        return False

    def feed_eof(self) -> None:
        StreamReader.feed_eof(self)
        _watcher(self).body_ended()

    def set_exception(self, exc: BaseException, exc_cause: BaseException | None = None) -> None:
        if exc_cause is not None and exc_cause is not exc:
            exc.__cause__ = exc_cause
        StreamReader.set_exception(self, exc)
        if exc is _CLOSED_BY_READER:
            _watcher(self).reader_left()
        else:
            _watcher(self).body_broke(exc)


class HeldReader(StreamReader):
    """Its end is the caller's at once, but aiohttp keeps the connection until `let_end`: whether it may be
    used again depends on whether the answer was whole.
    """

    __slots__ = ()

    def feed_eof(self) -> None:
        callbacks, self._eof_callbacks = self._eof_callbacks, []
        StreamReader.feed_eof(self)
        self._eof_callbacks = callbacks


class FailingReader(TappedReader):
    """Hands out what it holds and only then raises; the stock reader drops what was not read yet."""

    __slots__ = ()

    def _wait(self, func_name: str) -> Any:
        failure = self._protocol.failure  # type: ignore[attr-defined]
        StreamReader.set_exception(self, failure)
        raise failure

    async def wait_eof(self) -> None:
        self._wait("wait_eof")


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
            _feed_data(self._reader, data, len(data))
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


def set_headers(response: ClientResponse, drop: frozenset[str], add: dict[str, str]) -> None:
    """Edit both header views; httpx-aiohttp reads the raw one."""
    headers = CIMultiDict(response._headers)
    raw = tuple(pair for pair in response._raw_headers if pair[0].decode("latin-1").lower() not in drop)
    for name in drop:
        headers.popall(name, None)
    headers.update(add)
    response._headers = CIMultiDictProxy(headers)
    response._raw_headers = raw + tuple((name.encode("latin-1"), add[name].encode("latin-1")) for name in add)
    response._cache.pop("headers", None)
    response._cache.pop("raw_headers", None)


def protocol_of(response: ClientResponse) -> Any:
    """The connection's protocol, whose `exception()` says what really happened to a broken body."""
    return response._connection.protocol if response._connection is not None else None


def middlewares_of(session: ClientSession) -> tuple[ClientMiddlewareType, ...]:
    """Those of the whole session."""
    return tuple(getattr(session, "_middlewares", None) or ())


def watch_close(protocol: Any, callback: Callable[[], None]) -> Callable[[], None]:
    """Call back when the connection is gone; returns what undoes it.

    The C parser closes the connection on a malformed chunk, and a closing session closes all of them, without
    a word to a caller who is waiting for bytes.
    """
    closed = protocol.closed if protocol is not None else None
    if closed is None:
        return _nothing

    def gone(_: Any) -> None:
        callback()

    closed.add_done_callback(_look_at)
    closed.add_done_callback(gone)
    return lambda: closed.remove_done_callback(gone)


def _look_at(closed: Any) -> None:
    """Asking for this future made it; asyncio complains when nobody looks at its exception."""
    if not closed.cancelled():
        closed.exception()


def stop_read_timeout(protocol: Any) -> None:
    """The body has ended after its reader's end, which is when aiohttp stops its read timeout."""
    protocol._drop_timeout()


def wake_reader(response: ClientResponse) -> None:
    """The connection is gone and aiohttp has not told who waits for bytes."""
    content = response.content
    if content.exception() is None and not content.is_eof():
        content.set_exception(ClientPayloadError("the connection was closed in the middle of the body"))


def end_of_body(error: BaseException | None, protocol: Any) -> BodyEnd:
    """How a body ended. What a reader is raised says little; the protocol knows what happened."""
    reason = protocol.exception() if protocol is not None else None
    if error is None:
        return BodyEnd.RESET if isinstance(reason, ClientOSError) else BodyEnd.CLEAN
    if isinstance(error, TimeoutError):
        return BodyEnd.STALLED
    if isinstance(error, HttpProcessingError) or isinstance(reason, HttpProcessingError):
        return BodyEnd.MALFORMED
    return BodyEnd.SHORT if isinstance(reason, ServerDisconnectedError) else BodyEnd.RESET


def total_timeout_passed(response: ClientResponse) -> bool:
    """Whether aiohttp's own total timeout is what ended the wait."""
    return bool(getattr(response._timer, "_cancelled", False))


def blank_response(reader: StreamReader, connection: Any) -> ClientResponse:
    """A response without a request, for the self-test."""
    response = ClientResponse.__new__(ClientResponse)
    response.content = reader
    response._connection = connection
    response._loop = cast("Any", None)
    return response


def missing_names() -> str | None:
    """What this file uses by name and the installed aiohttp does not have."""
    needed: dict[type, tuple[str, ...]] = {
        ClientResponse: ("_headers", "_raw_headers", "_closed", "_response_eof", "_notify_content"),
        StreamReader: ("_wait", "_eof_callbacks", "_http_chunk_splits"),
        ClientRequest: ("update_body", "response"),
    }
    missing = [
        f"{owner.__name__}.{name}"
        for owner, names in needed.items()
        for name in names
        if not hasattr(owner, name)
    ]
    if _CLOSED_BY_READER is None:
        missing.append("client_reqrep._CONNECTION_CLOSED_EXCEPTION")
    return f"missing: {', '.join(missing)}" if missing else None


def _watcher(reader: StreamReader) -> Watcher:
    return cast("Watcher", reader._protocol.watcher)  # type: ignore[attr-defined]


def _discard(_: bytes) -> bytes:
    return b""


def _nothing() -> None:
    return None


_feed_data: Callable[[StreamReader, bytes, int], Any] = StreamReader.feed_data
