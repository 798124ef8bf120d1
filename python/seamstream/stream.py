"""`seamstream.stream()`: an LLM answer as typed events, pulled by its reader, with no task of its own."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections import deque
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import replace
from types import TracebackType
from typing import Any, Final

import orjson
from aiohttp import ClientSession
from yarl import URL

from .clock import Clock
from .driver import Driver, RunSpec, Services
from .driver.exceptions import refused_locally
from .effects import Emit, Fail
from .errors import ConfigurationError, StoreError
from .event_writer import EventWriter
from .observe.hooks import Sink
from .recognise import dialect_of
from .recovery.continuation.dialects import form_of
from .recovery.continuation.facts import Dialect
from .recovery.continuation.profile import Profile
from .recovery.continuation.profiles import ProfileBook
from .recovery.policy import RecoveryPolicy
from .runner import AsyncRunner
from .saver import saver_of
from .stores.backend_checkpoints import BackendCheckpointStore
from .stores.checkpoints import StreamCheckpoint, StreamCheckpointStore
from .transports.aiohttp import AiohttpUpstream
from .typed import services_of, spec_of, upstream_of
from .types import Event, Outcome, ToolCallReady, Turn

_TEXT: Final = re.compile("[^\ud800-\udfff]*")
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
    takeover: bool = False,
    replayable: bool = False,
    dialect: Dialect | None = None,
    sinks: Iterable[Sink] = (),
    clock: Clock | None = None,
    profiles: ProfileBook | Iterable[Profile] | None = None,
) -> Run:
    """Ask for an answer; use it as `async with stream(...) as run: async for event in run: ...`.

    `json` is the request body (`"stream": true` is added). With a `store`, the same `run_id` in another
    process goes on with a run that was not committed; with `takeover` the request is stored before it
    is sent, and `take_over()` needs the id alone. With `replayable` each event is in the store
    before it leaves, for readers who come back by `replay()`. The policy's limits rule, not the
    session's timeouts.
    """
    url = URL(url)
    dialect = dialect or dialect_of("POST", url.path, _JSON)
    if dialect is None:
        raise ConfigurationError(f"the path {url.path!r} tells no dialect; pass dialect=")
    if takeover and store is None:
        raise ConfigurationError("takeover=True needs a store")
    if replayable and not isinstance(store, BackendCheckpointStore):
        raise ConfigurationError("replayable=True needs a BackendCheckpointStore")
    _check_names(store, run_id)
    services = services_of(sinks, clock, profiles)
    body = orjson.dumps(form_of(dialect).asking_for_stream(json))
    spec = spec_of(url, dialect, body, headers or {}, policy, services, run_id)
    if spec.mode == "recover":
        spec = replace(spec, body=services.repaired(spec) or body)
    if store is not None:
        spec = replace(spec, checkpoint_key=spec.run_id, keeps_request=takeover, replayable=replayable)
    return Run(spec, services, upstream_of(session, url, headers or {}, spec, services), store)


def _check_names(store: object, run_id: object) -> None:
    """A store must not be found to be none of these by a run that it fails to keep."""
    if hasattr(store, "enqueue"):
        kind = type(store).__name__
        raise ConfigurationError(
            f"{kind} is no checkpoint store: store=BackendCheckpointStore(backend, tenant=...)"
        )
    if run_id is not None and not (isinstance(run_id, str) and _TEXT.fullmatch(run_id)):
        raise ConfigurationError(f"a run_id is text without lone surrogates, not {run_id!a:.40}")


class Run:
    """One answer in the making. Leaving the `async with` block cleanly behind `Finish` commits it."""

    def __init__(
        self,
        spec: RunSpec,
        services: Services,
        upstream: AiohttpUpstream,
        store: StreamCheckpointStore | None,
        found: StreamCheckpoint | None = None,
    ) -> None:
        self._spec = spec
        self._services = services
        self._upstream = upstream
        self._store = store
        self._log: EventWriter | None = None
        self._saver = saver_of(store, spec, services.clock)
        self._checkpoint = found
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
        checkpoint = None
        if self._saver is not None:
            checkpoint = await self._saver.take_over(self._spec, self._services, self._checkpoint)
        if checkpoint is not None:
            self._spec = self._spec.owned(checkpoint)
        driver = Driver(self._spec, self._services, checkpoint)
        if self._spec.replayable and isinstance(self._store, BackendCheckpointStore):
            self._log = EventWriter(self._store, self._spec, self._services)
            driver.intake.events.sequence = await self._log.begin(takes_over=checkpoint is not None)
        driver.timers.pause(self._services.clock.monotonic())
        self._runner = AsyncRunner(driver, self._upstream, self._saver)
        if self._saver is not None and self._spec.keeps_request:  # nobody else could send it
            await self._put(self._services.clock.monotonic())
            await self._saver.flush()
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
            await self._log_end()
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
            elif isinstance(error, Exception) and not isinstance(error, StoreError):
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
        try:
            if runner.driver.timers.checkpoint_due(now):
                await self._put(now)
            output = await runner.next()
        except BaseException:
            self._over = True
            runner.cancel()
            raise
        runner.driver.timers.pause(clock.monotonic())
        if isinstance(output, Emit):
            if any(isinstance(event, ToolCallReady) for event in output.events):
                await self._put(now)
            if self._log is not None:  # nothing leaves that a reader who comes back would not find
                await self._log.write(output.events)
            self._events.extend(output.events)
            return
        self._over = True
        await self._log_end()
        if isinstance(output, Fail):
            runner.cancel()
            raise output.error
        self._finished = output is not None

    async def _log_end(self) -> None:
        if self._log is not None and self.outcome is not None:
            await self._log.end(self.outcome)

    async def _put(self, now: float) -> None:
        """Store where the run stands; where a store must not fail, wait until it has it."""
        if self._saver is not None and self._runner is not None:
            self._driver.timers.checkpoint_at = now
            self._saver.put_soon(self._driver)
            if self._spec.policy.on_store_error == "fail":
                await self._saver.flush()

    async def _keep(self) -> None:
        """Whoever takes over should find everything that was received."""
        if self._saver is not None and not self._aborted:
            with contextlib.suppress(StoreError):  # the reader's own exception says more
                await self._put(self._services.clock.monotonic())
                await self._saver.flush()

    async def _forget(self) -> None:
        if self._saver is not None:
            self._saver.forget_soon()
            await self._saver.flush()
