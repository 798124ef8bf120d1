"""The aiohttp client middleware: LLM streams of a session become whole, everything else passes untouched."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

import aiohttp
from aiohttp import ClientRequest, ClientResponse, ServerTimeoutError

from .clock import Clock, SystemClock
from .driver import Driver, RunSpec
from .driver.observing import Observer
from .effects import Fail, Open, OpenFailed, Read, Relay
from .observe.hooks import Sink
from .observe_tap import ObservingTap
from .recognise import dialect_of
from .recovery.continuation.dialects import form_of
from .recovery.continuation.profile import Profile
from .recovery.continuation.profiles import ProfileBook
from .recovery.policy import RecoveryPolicy
from .runner import AsyncRunner
from .saver import saver_of
from .stores.checkpoints import StreamCheckpointStore
from .surface import LENGTH_HEADERS, RUN_ID_HEADER, SHOULD_RETRY_HEADER, Asked, Surface, TransportErrors
from .tap import Tap
from .transports import aiohttp_internals as internals
from .transports.aiohttp import (
    AiohttpFrameTooLarge,
    AiohttpStreamCutError,
    AiohttpUpstream,
    Handler,
    Resender,
    bypass,
)
from .transports.aiohttp_made import made_response
from .transports.aiohttp_self_test import problem

_LOG: Final = logging.getLogger("seamstream")
_ERRORS: Final = TransportErrors(AiohttpStreamCutError, AiohttpFrameTooLarge, ServerTimeoutError)


class RecoveryMiddleware:
    """`aiohttp.ClientSession(middlewares=[RecoveryMiddleware(policy)])`. One may serve several sessions.

    A middleware that signs requests or refreshes tokens goes behind this one, so that it runs for each
    attempt.
    """

    def __init__(
        self,
        policy: RecoveryPolicy | None = None,
        *,
        store: StreamCheckpointStore | None = None,
        sinks: Iterable[Sink] = (),
        clock: Clock | None = None,
        profiles: ProfileBook | Iterable[Profile] | None = None,
    ) -> None:
        self._store = store
        self._surface = Surface(
            policy, stores=store is not None, sinks=sinks, clock=clock or SystemClock(), profiles=profiles
        )
        self._services = self._surface.services
        if problem is not None:
            _LOG.warning(
                "streams pass without recovery, aiohttp %s is unknown: %s", aiohttp.__version__, problem
            )

    async def __call__(self, request: ClientRequest, handler: Handler) -> ClientResponse:
        dialect = dialect_of(request.method, request.url.path, request.headers)
        if dialect is None or problem is not None or bypass.get():
            return await handler(request)
        mode = self._surface.mode()
        if mode == "off":
            return await handler(request)
        body = await self._retained_body(request)
        target, host = str(request.url.origin()), request.url.host or ""
        spec = self._surface.spec(
            Asked(dialect, target, host, request.headers, body, request.url.path), mode, _ERRORS
        )
        if spec.wants_stream:
            request.headers["Accept-Encoding"] = "identity"
        if spec.mode == "observe":
            return await self._observe(spec, request, handler)
        if (refusal := self._services.refusal(spec)) is not None:
            return made_response(request, 400, refusal)
        return await self._recover(await self._repaired(spec, request), request, handler)

    async def _retained_body(self, request: ClientRequest) -> bytes | None:
        """The request's body if it is in memory and small enough to be kept for another attempt."""
        body = request.body
        if not isinstance(body, aiohttp.Payload):
            return body
        if body.size is None or body.size > self._surface.policy.max_retained_request_bytes:
            return None
        return await body.as_bytes()

    async def _repaired(self, spec: RunSpec, request: ClientRequest) -> RunSpec:
        """Without the thinking that this process left unsigned, which the provider would refuse."""
        cleaned = self._services.repaired(spec)
        if cleaned is None:
            return spec
        await request.update_body(cleaned)
        return replace(spec, body=cleaned)

    def _upstream(self, spec: RunSpec, request: ClientRequest, handler: Handler) -> AiohttpUpstream:
        media_types = form_of(spec.dialect).media_types
        return AiohttpUpstream(Resender(request, handler, spec.body), self._services.clock, media_types)

    async def _recover(self, spec: RunSpec, request: ClientRequest, handler: Handler) -> ClientResponse:
        upstream = self._upstream(spec, request, handler)
        saver = saver_of(self._store, spec, self._services.clock)
        runner = AsyncRunner(Driver(spec, self._services), upstream, saver)
        try:
            effect = await runner.next(stop_at_read=True)
        except BaseException:
            runner.cancel()
            raise
        if isinstance(effect, Fail):
            runner.cancel()
            raise effect.error
        response = upstream.hand_over()
        if isinstance(effect, Read):
            internals.set_headers(response, LENGTH_HEADERS, {RUN_ID_HEADER: spec.run_id})
            Tap(response, runner)
            return response
        runner.cancel()
        if isinstance(effect, Relay) and effect.stop_retrying:
            internals.set_headers(response, frozenset({SHOULD_RETRY_HEADER}), {SHOULD_RETRY_HEADER: "false"})
        return response

    async def _observe(self, spec: RunSpec, request: ClientRequest, handler: Handler) -> ClientResponse:
        """Look on: the caller gets what stock aiohttp gives, exceptions included."""
        observer = Observer(spec, self._services)
        upstream = self._upstream(spec, request, handler)
        try:
            opened = await upstream.open(Open(1, None))
        except BaseException:
            observer.left()
            raise
        if isinstance(opened, OpenFailed):
            observer.failed(opened.error)
            raise opened.error
        response = upstream.hand_over()
        observer.answered(opened)
        if opened.stream:
            internals.set_headers(response, frozenset(), {RUN_ID_HEADER: spec.run_id})
            ObservingTap(response, observer)
        return response
