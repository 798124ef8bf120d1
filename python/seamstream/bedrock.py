"""Bedrock's own clients, of boto3 and aiobotocore: their ConverseStream answers come whole.

A signature covers the body, so the client's own endpoint makes and signs each attempt, and what came of it is
parsed by botocore as ever: the caller gets botocore's own dicts, EventStreamError and ClientError.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

from aiohttp import ServerTimeoutError

from .bedrock_reader import RecoveredChunks, WatchedChunks
from .clock import BlockingClock, SystemClock
from .driver import Driver, RunSpec
from .driver.observing import Observer
from .effects import Effect, Fail, Open, Opened, Read
from .errors import ConfigurationError
from .httpx_reader import SyncObservedStream, SyncRecoveredStream
from .observe.hooks import Sink
from .recovery.continuation.dialects import form_of
from .recovery.continuation.profile import Profile
from .recovery.continuation.profiles import ProfileBook
from .recovery.policy import RecoveryPolicy
from .runner import AsyncRunner
from .saver import saver_of
from .stores.checkpoints import StreamCheckpointStore
from .surface import RUN_ID_HEADER, Asked, Surface, TransportErrors
from .sync_runner import SyncRunner
from .transports.aiohttp import AiohttpFrameTooLarge, AiohttpStreamCutError
from .transports.botocore_async import AsyncRaw, BotocoreUpstream
from .transports.botocore_internals import (
    Call,
    is_async,
    is_over_aiohttp,
    is_wrapped,
    recovering,
    service_of,
)
from .transports.botocore_sync import (
    SyncBotocoreUpstream,
    SyncRaw,
    SyncWatched,
    end_of_body,
    is_failure_of_transport,
    is_stream,
    sync_errors,
)

C = TypeVar("C")

OPERATIONS: Final = frozenset({"ConverseStream"})
_DIALECT: Final = "bedrock"


def wrap_bedrock(
    client: C,
    policy: RecoveryPolicy | None = None,
    *,
    store: StreamCheckpointStore | None = None,
    sinks: Iterable[Sink] = (),
    clock: BlockingClock | None = None,
    profiles: ProfileBook | Iterable[Profile] | None = None,
) -> C:
    """A client like `client` whose `converse_stream` is made whole; everything else passes untouched.

    botocore's own retries do not see these calls: there is one budget for all. `store` is for async clients.
    """
    _check(client, policy, store)
    clock = clock or SystemClock()
    surface = Surface(policy, stores=store is not None, sinks=sinks, clock=clock, profiles=profiles)
    send = _AsyncCalls(surface, store) if is_async(client) else _SyncCalls(surface, clock)
    wrapped: C = recovering(client, OPERATIONS, send)
    return wrapped


def _check(client: Any, policy: RecoveryPolicy | None, store: StreamCheckpointStore | None) -> None:
    if (service := service_of(client)) != "bedrock-runtime":
        raise ConfigurationError(f"cannot wrap a client of {service}, only one of bedrock-runtime")
    if is_wrapped(client):
        raise ConfigurationError("this client is wrapped already")
    if is_async(client) and not is_over_aiohttp(client):
        raise ConfigurationError("of aiobotocore's clients only those over aiohttp can be wrapped")
    if store is not None and not is_async(client):
        raise ConfigurationError("a checkpoint store needs an async client")
    if policy is not None and policy.fallbacks:
        raise ConfigurationError("a Bedrock client signs for its own endpoint, so it has no fallbacks")


class _Calls:
    """What both kinds of client know of a call before they send anything."""

    def __init__(self, surface: Surface, errors: TransportErrors) -> None:
        self._surface = surface
        self._services = surface.services
        self._errors = errors
        self._media_types = form_of(_DIALECT).media_types

    def _spec(self, call: Call) -> RunSpec | None:
        """The run that a call begins; None if it passes untouched."""
        mode = self._surface.mode()
        if mode == "off":
            return None
        url = urlsplit(call.request["url"])
        body = call.request["body"]
        kept = body if isinstance(body, bytes) and len(body) <= self._limit else None
        target = f"{url.scheme}://{url.netloc}"
        asked = Asked(_DIALECT, target, url.hostname or "", call.request["headers"], kept, url.path)
        return self._surface.spec(asked, mode, self._errors)

    @property
    def _limit(self) -> int:
        return self._surface.policy.max_retained_request_bytes


def _call_of(call: Call, effect: Open) -> Call:
    """The call of one attempt."""
    return call.with_body(effect.attempt, effect.body, effect.headers)


class _SyncCalls(_Calls):
    """boto3."""

    def __init__(self, surface: Surface, clock: BlockingClock) -> None:
        super().__init__(surface, sync_errors())
        self._clock = clock

    def __call__(self, call: Call) -> Any:
        spec = self._spec(call)
        if spec is None:
            return call.untouched()
        prepared = call.with_body(1, None, {}).create()
        answer = self._observed if spec.mode == "observe" else self._recovered
        return call.result(call.parsed(prepared, lambda request: answer(spec, call, request)))

    def _recovered(self, spec: RunSpec, call: Call, first: Any) -> Any:
        def send(effect: Open) -> Any:
            attempt = _call_of(call, effect)
            return attempt.send(first if effect.unchanged else attempt.create())

        upstream = SyncBotocoreUpstream(send, self._media_types)
        runner = SyncRunner(Driver(spec, self._services), upstream, self._clock)
        try:
            effect = runner.next(stop_at_read=True)
        except BaseException:
            runner.cancel()
            raise
        if not isinstance(effect, Read):
            response = upstream.hand_over()
            runner.cancel()
            return _final(effect, response)
        return _whole(spec, upstream.response, SyncRaw(SyncRecoveredStream(runner)))

    def _observed(self, spec: RunSpec, call: Call, first: Any) -> Any:
        observer = Observer(spec, self._services)
        try:
            response = call.send(first)
        except BaseException as error:
            _never_answered(observer, error)
            raise
        if not _answered(observer, response, self._media_types):
            return response
        watched = SyncObservedStream(SyncWatched(response.raw), observer, end_of_body)
        return _whole(spec, response, SyncRaw(watched))


class _AsyncCalls(_Calls):
    """aiobotocore, over aiohttp."""

    def __init__(self, surface: Surface, store: StreamCheckpointStore | None) -> None:
        errors = TransportErrors(AiohttpStreamCutError, AiohttpFrameTooLarge, ServerTimeoutError)
        super().__init__(surface, errors)
        self._store = store

    async def __call__(self, call: Call) -> Any:
        spec = self._spec(call)
        if spec is None:
            return await call.untouched()
        prepared = await call.with_body(1, None, {}).create()
        answer = self._observed if spec.mode == "observe" else self._recovered
        return call.result(await call.parsed(prepared, lambda request: answer(spec, call, request)))

    async def _recovered(self, spec: RunSpec, call: Call, first: Any) -> Any:
        async def send(effect: Open) -> Any:
            attempt = _call_of(call, effect)
            return await attempt.send(first if effect.unchanged else await attempt.create())

        clock = self._services.clock
        upstream = BotocoreUpstream(send, clock, self._media_types)
        saver = saver_of(self._store, spec, clock)
        runner = AsyncRunner(Driver(spec, self._services), upstream, saver)
        try:
            effect = await runner.next(stop_at_read=True)
        except BaseException:
            runner.cancel()
            raise
        if not isinstance(effect, Read):
            response = upstream.whole_response
            upstream.hand_over_if_open()
            runner.cancel()
            return _final(effect, response)
        return _whole(spec, upstream.whole_response, AsyncRaw(RecoveredChunks(runner)))

    async def _observed(self, spec: RunSpec, call: Call, first: Any) -> Any:
        observer = Observer(spec, self._services)
        try:
            response = await call.send(first)
        except BaseException as error:
            _never_answered(observer, error)
            raise
        if not _answered(observer, response, self._media_types):
            return response
        return _whole(spec, response, AsyncRaw(WatchedChunks(response.raw, observer)))


def _answered(observer: Observer, response: Any, media_types: tuple[str, ...]) -> bool:
    headers = {name.lower(): value for name, value in response.headers.items()}
    streams = is_stream(response.status_code, headers, media_types)
    observer.answered(Opened(response.status_code, headers, streams))
    return streams


def _never_answered(observer: Observer, error: BaseException) -> None:
    if isinstance(error, Exception) and is_failure_of_transport(error):
        observer.failed(error)
    else:
        observer.left()


def _whole(spec: RunSpec, response: Any, raw: Any) -> Any:
    """The reader's response: that of attempt 1, over all attempts."""
    response.raw = raw
    response.headers[RUN_ID_HEADER] = spec.run_id
    return response


def _final(effect: Effect | None, response: Any) -> Any:
    """No stream came of it: the provider's own last answer, or the transport's own exception."""
    if isinstance(effect, Fail):
        raise effect.error
    return response
