"""The httpx transports: LLM streams of a client become whole, everything else passes untouched.

One source for httpx2 and httpx; which one it is, is told from the class of the transport inside.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Any

from .clock import BlockingClock, Clock, SystemClock
from .driver import Driver, RunSpec
from .driver.observing import Observer
from .effects import Effect, Fail, Open, Read, Relay
from .httpx_reader import ObservedStream, RecoveredStream, SyncObservedStream, SyncRecoveredStream
from .observe.hooks import Sink
from .recognise import dialect_of
from .recovery.continuation.profile import Profile
from .recovery.continuation.profiles import ProfileBook
from .recovery.policy import RecoveryPolicy
from .runner import AsyncRunner
from .saver import saver_of
from .stores.checkpoints import StreamCheckpointStore
from .surface import LENGTH_HEADERS, RUN_ID_HEADER, SHOULD_RETRY_HEADER, Asked, Surface, TransportErrors
from .sync_runner import SyncRunner
from .transports.httpx import HttpxUpstream
from .transports.httpx_ends import is_failure_of_transport
from .transports.httpx_exchange import Requests, opened, retained_body, with_body
from .transports.httpx_module import load, module_of
from .transports.httpx_sync import SyncHttpxUpstream

if TYPE_CHECKING:
    from httpx2 import AsyncBaseTransport as _AsyncBase
    from httpx2 import BaseTransport as _SyncBase
else:
    _AsyncBase = _SyncBase = object

Profiles = ProfileBook | Iterable[Profile] | None


class _Recognising:
    """What both transports know of a request before they send anything."""

    def __init__(self, inner: Any, surface: Surface) -> None:
        self._inner = inner
        self._surface = surface
        self._services = surface.services
        self._module = module_of(inner)
        module = self._module
        self._errors = TransportErrors(module.cut_error, module.frame_error, module.timeout_error)

    def _spec(self, request: Any) -> RunSpec | None:
        """The run that a request begins; None if it passes untouched."""
        url = request.url
        dialect = dialect_of(request.method, url.path, request.headers)
        mode = self._surface.mode() if dialect is not None else "off"
        if dialect is None or mode == "off":
            return None
        target = f"{url.scheme}://{url.netloc.decode('ascii')}"
        body = retained_body(request, self._surface.policy.max_retained_request_bytes)
        spec = self._surface.spec(
            Asked(dialect, target, url.host, request.headers, body, url.path), mode, self._errors
        )
        cleaned = self._services.repaired(spec) if spec.mode == "recover" else None
        return spec if cleaned is None else replace(spec, body=cleaned)

    def _refusal(self, spec: RunSpec) -> Any:
        """The answer to a request that its provider would misunderstand; None when it may be sent."""
        body = self._services.refusal(spec)
        if body is None:
            return None
        return self._module.package.Response(400, headers={"content-type": "application/json"}, content=body)

    def _requests(self, spec: RunSpec, request: Any, *, longest_read_s: float | None = None) -> Requests:
        return Requests(self._module, request, spec, longest_read_s=longest_read_s)

    def _whole_stream(self, spec: RunSpec, response: Any, stream: Any) -> Any:
        """The reader's response: that of attempt 1, over all attempts."""
        ids = {RUN_ID_HEADER: spec.run_id}
        return with_body(self._module, response, stream, without=LENGTH_HEADERS, headers=ids)

    def _watched_stream(self, spec: RunSpec, response: Any, stream: Any) -> Any:
        return with_body(self._module, response, stream, headers={RUN_ID_HEADER: spec.run_id})


class RecoveryTransport(_Recognising, _AsyncBase):
    """`httpx2.AsyncClient(transport=RecoveryTransport(httpx2.AsyncHTTPTransport()))`, and the same for httpx.

    Without `inner` it is httpx2's own transport. A transport that signs requests or refreshes tokens goes
    inside this one, so that it runs for each attempt. It needs asyncio.
    """

    def __init__(
        self,
        inner: Any = None,
        policy: RecoveryPolicy | None = None,
        *,
        store: StreamCheckpointStore | None = None,
        sinks: Iterable[Sink] = (),
        clock: Clock | None = None,
        profiles: Profiles = None,
    ) -> None:
        inner = inner if inner is not None else load("httpx2").package.AsyncHTTPTransport()
        surface = Surface(
            policy, stores=store is not None, sinks=sinks, clock=clock or SystemClock(), profiles=profiles
        )
        super().__init__(inner, surface)
        self._store = store

    async def handle_async_request(self, request: Any) -> Any:
        spec = self._spec(request)
        if spec is None:
            return await self._inner.handle_async_request(request)
        if spec.mode == "observe":
            return await self._observe(spec, request)
        return self._refusal(spec) or await self._recover(spec, request)

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def __aenter__(self) -> RecoveryTransport:
        await self._inner.__aenter__()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None = None,
        exc_value: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> None:
        await self._inner.__aexit__(exc_type, exc_value, traceback)

    async def _recover(self, spec: RunSpec, request: Any) -> Any:
        driver, clock = Driver(spec, self._services), self._services.clock
        flushes = spec.checkpoint_key is not None and spec.policy.on_store_error == "fail"
        timers, send = driver.timers, self._inner.handle_async_request
        upstream = HttpxUpstream(
            self._module,
            send,
            self._requests(spec, request),
            clock,
            lambda: timers.undisturbed and not flushes,
        )
        saver = saver_of(self._store, spec, self._services.clock)
        runner = AsyncRunner(driver, upstream, saver)
        try:
            effect = await runner.next(stop_at_read=True)
        except BaseException:
            runner.cancel()
            await upstream.finish()
            raise
        if isinstance(effect, Read):
            stream = self._module.async_stream(RecoveredStream)(runner, upstream)
            return self._whole_stream(spec, upstream.response, stream)
        response = upstream.hand_over()
        runner.cancel()
        return _final(effect, response)

    async def _observe(self, spec: RunSpec, request: Any) -> Any:
        """Look on: the caller gets what the inner transport gives, exceptions included."""
        observer, requests = Observer(spec, self._services), self._requests(spec, request)
        try:
            response = await self._inner.handle_async_request(_first(requests))
        except BaseException as error:
            _never_answered(observer, error)
            raise
        head = opened(response, requests.media_types)
        observer.answered(head)
        if not head.stream:
            return response
        watched = self._module.async_stream(ObservedStream)(response, observer)
        return self._watched_stream(spec, response, watched)


class SyncRecoveryTransport(_Recognising, _SyncBase):
    """The synchronous twin: `httpx2.Client(transport=SyncRecoveryTransport(httpx2.HTTPTransport()))`.

    Silence is noticed by the read timeout, which HTTP/1.1 sets once an attempt: the shorter of the caller's
    own and the longest of the policy's three limits. Pings do not hide a stall.
    """

    def __init__(
        self,
        inner: Any = None,
        policy: RecoveryPolicy | None = None,
        *,
        sinks: Iterable[Sink] = (),
        clock: BlockingClock | None = None,
        profiles: Profiles = None,
    ) -> None:
        inner = inner if inner is not None else load("httpx2").package.HTTPTransport()
        self._clock = clock or SystemClock()
        super().__init__(
            inner, Surface(policy, stores=False, sinks=sinks, clock=self._clock, profiles=profiles)
        )

    def handle_request(self, request: Any) -> Any:
        spec = self._spec(request)
        if spec is None:
            return self._inner.handle_request(request)
        if spec.mode == "observe":
            return self._observe(spec, request)
        return self._refusal(spec) or self._recover(spec, request)

    def close(self) -> None:
        self._inner.close()

    def __enter__(self) -> SyncRecoveryTransport:
        self._inner.__enter__()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None = None,
        exc_value: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> None:
        self._inner.__exit__(exc_type, exc_value, traceback)

    def _recover(self, spec: RunSpec, request: Any) -> Any:
        policy = spec.policy
        longest_s = max(policy.first_content_s, policy.idle_s, policy.quiet_s)
        requests = self._requests(spec, request, longest_read_s=longest_s)
        upstream = SyncHttpxUpstream(self._module, self._inner.handle_request, requests)
        runner = SyncRunner(Driver(spec, self._services), upstream, self._clock)
        try:
            effect = runner.next(stop_at_read=True)
        except BaseException:
            runner.cancel()
            raise
        if isinstance(effect, Read):
            stream = self._module.sync_stream(SyncRecoveredStream)(runner)
            return self._whole_stream(spec, upstream.response, stream)
        response = upstream.hand_over()
        runner.cancel()
        return _final(effect, response)

    def _observe(self, spec: RunSpec, request: Any) -> Any:
        """Look on: the caller gets what the inner transport gives, exceptions included."""
        observer, requests = Observer(spec, self._services), self._requests(spec, request)
        try:
            response = self._inner.handle_request(_first(requests))
        except BaseException as error:
            _never_answered(observer, error)
            raise
        head = opened(response, requests.media_types)
        observer.answered(head)
        if not head.stream:
            return response
        watched = self._module.sync_stream(SyncObservedStream)(response, observer)
        return self._watched_stream(spec, response, watched)


def _first(requests: Requests) -> Any:
    return requests.make(Open(1, None))


def _never_answered(observer: Observer, error: BaseException) -> None:
    if isinstance(error, Exception) and is_failure_of_transport(error):
        observer.failed(error)
    else:
        observer.left()


def _final(effect: Effect | None, response: Any) -> Any:
    """No stream came of it: the provider's own last answer, or the transport's own exception."""
    if isinstance(effect, Fail):
        raise effect.error
    if isinstance(effect, Relay) and effect.stop_retrying:
        response.headers[SHOULD_RETRY_HEADER] = "false"
    return response
