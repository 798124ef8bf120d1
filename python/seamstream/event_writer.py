"""Writes a replayable run's events ahead: each is in the log before it leaves for the run's own reader."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from .clock import Clock
from .driver import RunSpec, Services
from .errors import ConfigurationError, StaleOwner, StoreError
from .stores.backend_checkpoints import BackendCheckpointStore
from .stores.event_log import EventLog, Logged
from .stores.replay_events import RunEnd
from .types import Event, Outcome, ResumedFromCheckpoint, StreamReset
from .within import within

RETRY_S: Final = 10.0
"""A store that failed is left alone so long: each try may hold up the stream for `store_s`."""
_UNFINISHED: Final = frozenset({"failed", "truncated", "cancelled"})


class EventWriter:
    """One owner's way into the log. What a store that is down did not take is missing there, and readers of
    the log are told so; a store that must not fail ends the run instead (StoreError).
    """

    def __init__(self, store: BackendCheckpointStore, spec: RunSpec, services: Services) -> None:
        self._log = EventLog(store.backend, store.tenant, spec.run_id, ttl_s=store.ttl_s, cipher=store.cipher)
        self._spec = spec
        self._services = services
        self._clock: Clock = services.clock
        self._epoch = spec.epoch
        self._place = 0
        """The last entry, as far as we know."""
        self._seq = 0
        self._attempt = 0
        self._tries_again_at = 0.0
        self._lost = False

    async def begin(self, *, takes_over: bool) -> int:
        """Become the log's writer, and return the `seq` that its last event has.

        Of a run that somebody else began, whoever reads the log is told to drop what it had. A finished run's
        id cannot be used again, unless its checkpoint is still there: ConfigurationError.
        """
        try:
            await within(self._clock, self._spec.policy.store_s, self._begin(takes_over))
        except (ConfigurationError, StaleOwner):
            raise
        except Exception as error:
            self._failed(error)
        return self._seq

    async def write(self, events: Sequence[Event]) -> None:
        """Return once the log has them, or the store has failed. StaleOwner as StoreError says."""
        if not events:
            return
        self._seq, self._attempt = events[-1].seq, events[-1].attempt
        if self._lost or self._clock.monotonic() < self._tries_again_at:
            return
        try:
            await within(self._clock, self._spec.policy.store_s, self._append(events))
        except Exception as error:
            self._failed(error)

    async def end(self, outcome: Outcome) -> None:
        """The run is over: that is the last entry, and worth another try whatever has failed."""
        self._tries_again_at = 0.0
        await self.write([RunEnd(self._attempt, self._seq + 1, outcome)])

    async def _begin(self, takes_over: bool) -> None:
        entries = await self._log.read()
        if not entries:
            return
        last = entries[-1]
        ended = isinstance(last.event, RunEnd) and last.event.outcome.kind not in _UNFINISHED
        if ended and not takes_over:
            raise ConfigurationError(f"the run {self._spec.run_id!r} is finished; a new one needs its own id")
        while not await self._take(last):
            last = (await self._log.read(after=last.place))[-1]

    async def _take(self, last: Logged) -> bool:
        """Put an entry of ours behind the last one; False if it is not the last any more."""
        self._epoch = max(self._spec.epoch, last.epoch + 1)
        self._attempt, self._seq = last.event.attempt, last.event.seq + 1
        reset = StreamReset(self._attempt, self._seq, str(ResumedFromCheckpoint()))
        place = await self._log.append([reset], epoch=self._epoch, after=last.place)
        self._place = place or 0
        return place is not None

    async def _append(self, events: Sequence[Event]) -> None:
        place = await self._log.append(events, epoch=self._epoch, after=self._place)
        while place is None:
            written = await self._look()
            events = [event for event in events if event.seq > written]
            place = await self._log.append(events, epoch=self._epoch, after=self._place)
        self._place = place

    async def _look(self) -> int:
        """The log does not end where we thought: a write of ours came through after all, or entries that were
        acknowledged are lost. Returns the last `seq` of what has come. StaleOwner if it was not us.
        """
        entries = await self._log.read(after=self._place) or await self._log.read()
        if not entries:
            self._place = 0
            return 0
        last = entries[-1]
        if last.epoch > self._epoch:
            raise StaleOwner(f"run {self._spec.run_id!r} has a writer of epoch {last.epoch}")
        self._place = last.place
        return last.event.seq

    def _failed(self, error: Exception) -> None:
        stale = isinstance(error, StaleOwner)
        if self._spec.policy.on_store_error == "fail":
            raise (
                error if isinstance(error, StoreError) else StoreError(f"the event log failed: {error}")
            ) from error
        self._lost = stale
        self._tries_again_at = self._clock.monotonic() + RETRY_S
        self._services.notice("stale_owner" if stale else "store_down", self._spec, str(error))
