"""`seamstream.stream()`: an LLM answer as typed events, pulled by its reader, with no task of its own."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import replace
from types import TracebackType
from typing import Any, Final

import orjson
from aiohttp import ClientSession, ServerTimeoutError
from yarl import URL

from .capture import collectors
from .clock import Clock, SystemClock
from .driver import Driver, RunSpec, Services
from .driver.exceptions import refused_locally
from .driver.spec import book_of
from .effects import Emit, Fail
from .environment import apply_environment
from .errors import ConfigurationError, StoreError
from .observe.hooks import Sink, Sinks
from .recognise import choices_asked, dialect_of, named_by
from .recovery.continuation.dialects import form_of
from .recovery.continuation.facts import Dialect
from .recovery.continuation.profile import Profile
from .recovery.continuation.profiles import ProfileBook
from .recovery.continuation.route import public_headers
from .recovery.digests import digest
from .recovery.policy import RecoveryPolicy
from .runner import AsyncRunner
from .saver import CheckpointSaver
from .stores.checkpoints import StreamCheckpoint, StreamCheckpointStore
from .transports.aiohttp import (
    AiohttpFrameTooLarge,
    AiohttpStreamCutError,
    AiohttpUpstream,
    SessionSender,
)
from .types import Event, Outcome, ToolCallReady, Turn

_JSON: Final = {"Content-Type": "application/json"}


def stream(
    session: ClientSession,
    url: str | URL,
    *,
    json: Mapping[str, Any],
    headers: Mapping[str, str] | None = None,
    policy: RecoveryPolicy | None = None,
    store: StreamCheckpointStore | None = None,
    run_id: str | None = None,
    dialect: Dialect | None = None,
    sinks: Iterable[Sink] = (),
    clock: Clock | None = None,
    profiles: ProfileBook | Iterable[Profile] | None = None,
) -> Run:
    """Ask for an answer; use it as `async with stream(...) as run: async for event in run: ...`.

    `json` is the request body (`"stream": true` is added). With a `store`, the same `run_id` in another
    process goes on with a run that was not committed. The policy's limits rule, not the session's timeouts.
    """
    url = URL(url)
    dialect = dialect or dialect_of("POST", url.path, _JSON)
    if dialect is None:
        raise ConfigurationError(f"the path {url.path!r} tells no dialect; pass dialect=")
    services = Services(clock or SystemClock(), Sinks(sinks), book_of(profiles))
    policy = apply_environment(policy or RecoveryPolicy())
    body = orjson.dumps(form_of(dialect).asking_for_stream(json))
    recovers = policy.effective_mode(services.clock.random()) == "recover"
    run_id = run_id or services.clock.uuid()
    spec = RunSpec(
        run_id=run_id,
        dialect=dialect,
        target=str(url.origin()),
        host=url.host or "",
        reader="typed",
        policy=policy,
        mode="recover" if recovers else "observe",
        body=body,
        path=url.path,
        headers=public_headers(headers or {}),
        choices=choices_asked(dialect, body),
        **named_by(headers or {}),
        checkpoint_key=run_id if store is not None else None,
        cut_error=AiohttpStreamCutError,
        frame_error=AiohttpFrameTooLarge,
        timeout_error=ServerTimeoutError,
        collectors=collectors(),
    )
    body = (services.repaired(spec) if recovers else None) or body
    sender = SessionSender(session, url, body, headers or {}, connect_s=policy.connect_s)
    return Run(replace(spec, body=body), services, sender, store, decompresses=session.auto_decompress)


class Run:
    """One answer in the making. Leaving the `async with` block cleanly behind `Finish` commits it."""

    def __init__(
        self,
        spec: RunSpec,
        services: Services,
        sender: SessionSender,
        store: StreamCheckpointStore | None,
        *,
        decompresses: bool,
    ) -> None:
        self._spec = spec
        self._services = services
        self._upstream = AiohttpUpstream(
            sender,
            services.clock,
            form_of(spec.dialect).media_types,
            describes=True,
            decompresses=decompresses,
        )
        self._store = store
        self._saver = CheckpointSaver(store, spec.run_id) if store is not None else None
        self._runner: AsyncRunner | None = None
        self._events: deque[Event] = deque()
        self._finished = self._over = self._aborted = False

    @property
    def run_id(self) -> str:
        return self._spec.run_id

    @property
    def turn(self) -> Turn:
        """The turn: final once the run is over, before that as far as it has come."""
        driver = self._driver
        return driver.turn if driver.turn is not None else driver.turn_so_far()

    @property
    def outcome(self) -> Outcome | None:
        """How the run ended; None while it goes on."""
        return self._driver.history.outcome

    async def __aenter__(self) -> Run:
        if self._runner is not None:
            raise RuntimeError("a run can be entered once")
        if (refusal := self._services.refusal(self._spec)) is not None:
            raise refused_locally(refusal)
        checkpoint = await self._found()
        if checkpoint is not None:
            self._spec = self._spec.owned(checkpoint.epoch + 1)
        driver = Driver(self._spec, self._services, checkpoint)
        driver.timers.pause(self._services.clock.monotonic())
        self._runner = AsyncRunner(driver, self._upstream, self._saver)
        return self

    def __aiter__(self) -> AsyncIterator[Event]:
        return self

    async def __anext__(self) -> Event:
        while not self._events:
            if self._over:
                raise StopAsyncIteration
            await self._pull()
        return self._events.popleft()

    async def commit(self) -> None:
        """The turn is safe with its reader: nobody needs to take it over any more."""
        if not self._finished:
            raise RuntimeError("the turn is not finished")
        await self._forget()

    async def abort(self) -> None:
        """End the run for good; nobody may take it over."""
        self._over = self._aborted = True
        self._events.clear()
        if self._runner is not None:
            self._runner.cancel()
        await self._forget()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        runner, finished = self._runner, self._finished
        self._over = True
        if runner is None:
            return
        try:
            if kind is None and finished:
                await runner.next()
                await self._forget()
            elif isinstance(error, Exception):
                await self._keep()
        finally:
            runner.cancel()
            if self._saver is not None and isinstance(error, asyncio.CancelledError):
                self._saver.cancel()

    @property
    def _driver(self) -> Driver:
        if self._runner is None:
            raise RuntimeError("the run has not been entered")
        return self._runner.driver

    async def _pull(self) -> None:
        """Let the run go on until something comes of it. Between two pulls its timers stand still."""
        runner, clock = self._runner, self._services.clock
        if runner is None:
            raise RuntimeError("the run has not been entered")
        now = clock.monotonic()
        runner.driver.timers.resume(now)
        if runner.driver.timers.checkpoint_due(now):
            self._put(now)
        try:
            output = await runner.next()
        except BaseException:
            self._over = True
            runner.cancel()
            raise
        runner.driver.timers.pause(clock.monotonic())
        if isinstance(output, Emit):
            self._events.extend(output.events)
            if self._saver is not None and any(isinstance(event, ToolCallReady) for event in output.events):
                self._put(now)
            return
        self._over = True
        if isinstance(output, Fail):
            runner.cancel()
            raise output.error
        self._finished = output is not None

    async def _found(self) -> StreamCheckpoint | None:
        """The checkpoint of a run that somebody else began under this id."""
        if self._store is None:
            return None
        try:
            checkpoint = await self._store.get(self._spec.run_id)
        except Exception as error:
            if self._spec.policy.on_store_error == "fail":
                raise StoreError(f"the checkpoint store failed: {error}") from error
            return None
        if checkpoint is not None and checkpoint.request_digest != digest(self._spec.body or b""):
            raise ConfigurationError(f"run {self._spec.run_id!r} was begun with another request")
        return checkpoint

    def _put(self, now: float) -> None:
        if self._saver is not None and self._runner is not None:
            self._driver.timers.checkpoint_at = now
            self._saver.put_soon(self._driver)

    async def _keep(self) -> None:
        """Whoever takes over should find everything that was received."""
        if self._saver is not None and not self._aborted:
            self._put(self._services.clock.monotonic())
            with contextlib.suppress(StoreError):  # the reader's own exception says more
                await self._saver.flush()

    async def _forget(self) -> None:
        if self._saver is not None:
            self._saver.forget_soon()
            await self._saver.flush()
