"""The aiohttp client middleware: LLM streams of a session become whole, everything else passes untouched."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Final, Literal

import aiohttp
from aiohttp import ClientRequest, ClientResponse, ServerTimeoutError

from .capture import collectors
from .clock import Clock, SystemClock
from .driver import Driver, RunSpec, Services
from .driver.observing import Observer
from .driver.spec import PROCESS_PROFILES
from .effects import Fail, Open, OpenFailed, Read, Relay
from .environment import apply_environment
from .observe.hooks import Notice, Sink, Sinks
from .observe_tap import ObservingTap
from .recognise import asks_for_stream, choices_asked, dialect_of, idempotency_of
from .recovery.continuation.profiles import Profile, ProfileBook
from .recovery.continuation.request import Dialect
from .recovery.policy import RecoveryPolicy
from .runner import AsyncRunner
from .saver import CheckpointSaver
from .stores.checkpoints import StreamCheckpointStore
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
from .transports.aiohttp_self_test import problem

RUN_ID_HEADER: Final = "x-seamstream-run-id"
_LOG: Final = logging.getLogger("seamstream")
_LENGTH_HEADERS: Final = frozenset({"content-length", "content-encoding"})
_SHOULD_RETRY: Final = "x-should-retry"


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
        self._policy = apply_environment(policy or RecoveryPolicy())
        self._store = store
        book = profiles if isinstance(profiles, ProfileBook) else ProfileBook(profiles) if profiles else None
        self._services = Services(clock or SystemClock(), Sinks(sinks), book or PROCESS_PROFILES)
        self._distrusted: set[str] = set()
        if problem is not None:
            _LOG.warning(
                "streams pass without recovery, aiohttp %s is unknown: %s", aiohttp.__version__, problem
            )

    async def __call__(self, request: ClientRequest, handler: Handler) -> ClientResponse:
        dialect = dialect_of(request.method, request.url.path, request.headers)
        if dialect is None or problem is not None or bypass.get():
            return await handler(request)
        mode = self._policy.effective_mode(self._services.clock.random())
        if mode == "off":
            return await handler(request)
        body = await self._repaired_body(request, dialect, await self._retained_body(request))
        spec = self._spec(request, dialect, mode, body)
        if spec.wants_stream:
            request.headers["Accept-Encoding"] = "identity"
        if spec.mode == "observe":
            return await self._observe(spec, request, handler)
        return await self._recover(spec, request, handler)

    async def _retained_body(self, request: ClientRequest) -> bytes | None:
        """The request's body if it is in memory and small enough to be kept for another attempt."""
        body = request.body
        if not isinstance(body, aiohttp.Payload):
            return body
        if body.size is None or body.size > self._policy.max_retained_request_bytes:
            return None
        return await body.as_bytes()

    async def _repaired_body(
        self, request: ClientRequest, dialect: Dialect, body: bytes | None
    ) -> bytes | None:
        """Without the thinking that this process left unsigned, which the provider would refuse."""
        if body is None or dialect != "anthropic" or not self._policy.repair_history:
            return body
        cleaned = self._services.unsigned.cleaned(body)
        if cleaned is None:
            return body
        await request.update_body(cleaned)
        return cleaned

    def _spec(
        self,
        request: ClientRequest,
        dialect: Dialect,
        mode: Literal["observe", "recover"],
        body: bytes | None,
    ) -> RunSpec:
        target = str(request.url.origin())
        run_id = self._services.clock.uuid()
        watched = body is None or self._is_distrusted(target, run_id)
        return RunSpec(
            run_id=run_id,
            dialect=dialect,
            target=target,
            host=request.url.host or "",
            reader="bytes",
            policy=self._policy,
            mode="observe" if watched else mode,
            body=body,
            wants_stream=body is None or asks_for_stream(body),
            choices=choices_asked(body) if body is not None and dialect == "openai-chat" else 1,
            idempotency=idempotency_of(request.headers),
            checkpoint_key=run_id if self._store is not None else None,
            cut_error=AiohttpStreamCutError,
            frame_error=AiohttpFrameTooLarge,
            timeout_error=ServerTimeoutError,
            collectors=collectors(),
        )

    def _is_distrusted(self, target: str, run_id: str) -> bool:
        """A target whose streams break all the time, though nothing visibly broke, is only observed."""
        clock = self._services.clock
        why = self._services.budget.target(target).distrust(clock.monotonic())
        if why is None:
            self._distrusted.discard(target)
            return False
        if target not in self._distrusted:
            self._distrusted.add(target)
            self._services.sinks.record(Notice("target_distrusted", clock.wall(), target, run_id, why))
        return True

    async def _recover(self, spec: RunSpec, request: ClientRequest, handler: Handler) -> ClientResponse:
        upstream = AiohttpUpstream(Resender(request, handler, spec.body), self._services.clock)
        saver = CheckpointSaver(self._store, spec.run_id) if self._store is not None else None
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
            internals.set_headers(response, _LENGTH_HEADERS, {RUN_ID_HEADER: spec.run_id})
            Tap(response, runner)
            return response
        runner.cancel()
        if isinstance(effect, Relay) and effect.stop_retrying:
            internals.set_headers(response, frozenset({_SHOULD_RETRY}), {_SHOULD_RETRY: "false"})
        return response

    async def _observe(self, spec: RunSpec, request: ClientRequest, handler: Handler) -> ClientResponse:
        """Look on: the caller gets what stock aiohttp gives, exceptions included."""
        observer = Observer(spec, self._services)
        upstream = AiohttpUpstream(Resender(request, handler, spec.body), self._services.clock)
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
