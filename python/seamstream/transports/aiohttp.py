"""aiohttp as a run's upstream: open a request, give chunks, report how a body ended. Decides nothing."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextvars import ContextVar
from typing import Any, Final

import aiohttp
from aiohttp import ClientRequest, ClientResponse, ClientSession, ClientTimeout, StreamReader
from multidict import CIMultiDict
from yarl import URL

from ..clock import Clock
from ..effects import Broke, Open, Opened, OpenFailed
from ..errors import FrameTooLarge, StreamCutError
from ..interrupter import Interrupter
from ..recovery.causes import BodyEnd
from ..recovery.continuation.route import Route
from . import aiohttp_internals as internals
from .aiohttp_routes import only_with, routed, routed_headers
from .aiohttp_self_test import problem

Handler = Callable[[ClientRequest], Awaitable[ClientResponse]]

RETRYABLE_STATUSES: Final = frozenset({408, 409, 429})
MAX_ERROR_BODY_BYTES: Final = 65_536
ERROR_BODY_S: Final = 5.0
DOCUMENT_S: Final = 60.0
REUSE_GRACE_S: Final = 0.1
"""How long a connection may take to end a body whose answer is whole, to be used again."""

# Above this aiohttp warns about a body of bytes, because it writes one in a single piece.
_LARGE_BODY_BYTES: Final = 2**20
_FAILURES: Final = (aiohttp.ClientError, OSError, asyncio.TimeoutError)

bypass: Final[ContextVar[bool]] = ContextVar("seamstream_bypass", default=False)
"""Set while a run sends its own requests through a session that may have the middleware too."""


class AiohttpStreamCutError(StreamCutError, aiohttp.ClientPayloadError):
    """A stream broke and was not made whole, for readers who know aiohttp's exceptions."""


class AiohttpFrameTooLarge(FrameTooLarge, aiohttp.ClientPayloadError):
    """One event passed `max_event_bytes`, for readers who know aiohttp's exceptions."""


class SessionClosedError(aiohttp.ClientConnectionError):
    """The session was closed while a run had still to send a request."""


_HOPELESS: Final = (
    aiohttp.InvalidURL,
    aiohttp.ClientConnectorCertificateError,
    aiohttp.TooManyRedirects,
    SessionClosedError,
)


def is_stream(response: ClientResponse, media_types: Collection[str]) -> bool:
    """A success with a stream of such a type for a body."""
    return 200 <= response.status < 300 and response.content_type in media_types


def is_compressed(response: ClientResponse) -> bool:
    """The server compressed although it was asked not to."""
    return response.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity")


class AiohttpUpstream:
    """The attempts of one run. `send` makes each attempt's request; `media_types` are those of its streams.

    `describes`: every answer that is no stream is read and described, not only those that decide about a
    retry. `decompresses`: aiohttp undoes compression, if the server compresses although it is asked not to.
    """

    def __init__(
        self,
        send: Callable[[Open], Awaitable[ClientResponse]],
        clock: Clock,
        media_types: Collection[str],
        *,
        describes: bool = False,
        decompresses: bool = False,
    ) -> None:
        self._send = send
        self._clock = clock
        self._media_types = media_types
        self._describes = describes
        self._decompresses = decompresses
        self._unwatch: Callable[[], None] = _nothing
        self._protocol: object = None
        self.response: ClientResponse | None = None

    async def open(self, effect: Open) -> Opened | OpenFailed:
        try:
            response = self.response = await self._send(effect)
        except _FAILURES as error:
            return _open_failed(error)
        headers = {name.lower(): value for name, value in response.headers.items()}
        if not is_stream(response, self._media_types):
            return Opened(response.status, headers, False, await self._peek(response, effect))
        if is_compressed(response) and not self._decompresses:
            return Opened(response.status, headers, False, unreadable="the response is compressed")
        if type(response.content) is not StreamReader:  # aiohttp has one empty body for all
            return Opened(response.status, headers, False, unreadable="the response has no body")
        self._watch(response)
        return Opened(response.status, headers, True)

    async def read(self) -> bytes | Broke:
        response = self.response
        if response is None:
            return Broke(BodyEnd.RESET)
        try:
            data = await response.content.readany()
        except Exception as error:
            if isinstance(error, TimeoutError) and internals.total_timeout_passed(response):
                raise
            return Broke(internals.end_of_body(error, self._protocol), error)
        return data or Broke(internals.end_of_body(None, self._protocol))

    async def close(self, *, reuse: bool) -> None:
        response = self._let_go()
        if response is None:
            return
        reusable = False
        try:
            reusable = reuse and (await self._read_for(response, REUSE_GRACE_S, MAX_ERROR_BODY_BYTES))[1]
        finally:  # also when the reader leaves while this waits
            if reusable:
                response.release()
            else:
                response.close()

    def abandon(self) -> None:
        response = self._let_go()
        if response is not None:
            response.close()

    def hand_over(self) -> ClientResponse:
        """The current response goes to the reader; from now on it is not ours to close."""
        response = self._let_go()
        if response is None:
            raise RuntimeError("there is no response to hand over")
        return response

    def _let_go(self) -> ClientResponse | None:
        self._unwatch()
        self._unwatch = _nothing
        response, self.response, self._protocol = self.response, None, None
        return response

    def _watch(self, response: ClientResponse) -> None:
        """Wake a read that aiohttp would leave asleep when the connection goes."""
        self._protocol = internals.protocol_of(response)
        if problem is None:
            internals.hold_end(response)
        self._unwatch = internals.watch_close(self._protocol, lambda: internals.wake_reader(response))

    async def _peek(self, response: ClientResponse, effect: Open) -> bytes:
        """The beginning of an answer that is no stream, or the document that was asked for; left in place for
        whoever gets the response.
        """
        telling = response.status >= 500 or response.status in RETRYABLE_STATUSES
        if not (telling or self._describes or effect.attempt > 1):
            return b""
        limit_s = DOCUMENT_S if effect.document_bytes else ERROR_BODY_S
        pieces, _ = await self._read_for(response, limit_s, effect.document_bytes or MAX_ERROR_BODY_BYTES)
        body = b"".join(pieces)
        internals.put_back(response, body)
        return body

    async def _read_for(
        self, response: ClientResponse, seconds: float, limit_bytes: int
    ) -> tuple[list[bytes], bool]:
        """Read for so long, or so much; and whether that was all of the body."""
        pieces, interrupter = list[bytes](), Interrupter[bytes]()
        timer = self._clock.call_later(seconds, interrupter.fire)
        try:
            while sum(map(len, pieces)) < limit_bytes:
                data = await interrupter.wait(response.content.readany())
                if not data:
                    return pieces, data is not None
                pieces.append(data)
        except _FAILURES:
            pass
        finally:
            timer.cancel()
        return pieces, False


class Resender:
    """Sends a middleware's request, the first time as it came and then with other bodies, through its
    handler.
    """

    def __init__(self, request: ClientRequest, handler: Handler, body: bytes | None) -> None:
        self._request = request
        self._handler = handler
        self._body = body
        self._method, self._url = request.method, request.url
        self._headers = request.headers.copy()

    async def __call__(self, effect: Open) -> ClientResponse:
        request = self._request
        if not effect.unchanged:
            if request.session.closed:
                raise SessionClosedError("Session is closed")
            self._address(effect.route or Route())
            await request.update_body(_payload(effect.body, self._body))
            request.headers.update(effect.headers)
        response = await self._handler(request)
        request.response = None  # a request that may be sent again must not keep its response alive
        return response

    def _address(self, route: Route) -> None:
        """Turn the request to where this attempt goes, from where its caller sent it."""
        request = self._request
        request.method, request.url = route.method or self._method, routed(self._url, route)
        headers = routed_headers(self._headers, self._url, request.url, route)
        request.headers.clear()
        request.headers.update(headers)


class SessionSender:
    """Sends requests through a session, for runs that have no caller's request to send again."""

    def __init__(
        self,
        session: ClientSession,
        url: str | URL,
        body: bytes,
        headers: Mapping[str, str],
        *,
        connect_s: float,
    ) -> None:
        self._session = session
        self._url = url
        self._body = body
        self._headers = {"Content-Type": "application/json", **headers, "Accept-Encoding": "identity"}
        # The policy's limits rule; a total timeout would end an answer that flows.
        self._timeout = ClientTimeout(total=None, sock_connect=connect_s)

    async def __call__(self, effect: Open) -> ClientResponse:
        if self._session.closed:
            raise SessionClosedError("Session is closed")
        token = bypass.set(True)
        try:
            route, first = effect.route or Route(), URL(self._url)
            url = routed(first, route)
            headers = routed_headers(CIMultiDict(self._headers), first, url, route)
            headers.update(effect.headers)
            options: dict[str, Any] = {"headers": headers}
            if url.origin() != first.origin():
                own = internals.middlewares_of(self._session)
                options = {"middlewares": (only_with(headers, url.origin()), *own)}
            return await self._session.request(
                route.method or "POST",
                url,
                data=_payload(effect.body, self._body),
                **options,
                timeout=self._timeout,
                raise_for_status=False,
            )
        finally:
            bypass.reset(token)


def _payload(body: bytes | None, first: bytes | None) -> bytes | io.BytesIO:
    data = body if body is not None else first or b""
    return data if len(data) <= _LARGE_BODY_BYTES else io.BytesIO(data)


def _open_failed(error: Exception) -> OpenFailed:
    hopeless = isinstance(error, _HOPELESS) or _total_timeout(error)
    connected = not isinstance(error, aiohttp.ClientConnectorError)
    gone = isinstance(error, aiohttp.ServerDisconnectedError | aiohttp.ClientOSError) and connected
    return OpenFailed(error, retryable=not hopeless, disconnected=gone)


def _total_timeout(error: BaseException) -> bool:
    """aiohttp's total timeout is a plain TimeoutError; its other timeouts say which they are."""
    return isinstance(error, TimeoutError) and not isinstance(error, aiohttp.ServerTimeoutError)


def _nothing() -> None:
    return None
