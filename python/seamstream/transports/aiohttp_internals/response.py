# ruff: noqa: SLF001
"""Heads, connections and ends of responses, as far as aiohttp does not document them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from aiohttp import (
    ClientMiddlewareType,
    ClientOSError,
    ClientPayloadError,
    ClientRequest,
    ClientResponse,
    ClientSession,
    ServerDisconnectedError,
    StreamReader,
)
from aiohttp.http_exceptions import HttpProcessingError
from multidict import CIMultiDict, CIMultiDictProxy

from ...recovery.causes import BodyEnd
from .readers import CLOSED_BY_READER


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
    if CLOSED_BY_READER is None:
        missing.append("client_reqrep._CONNECTION_CLOSED_EXCEPTION")
    return f"missing: {', '.join(missing)}" if missing else None


def _nothing() -> None:
    return None
