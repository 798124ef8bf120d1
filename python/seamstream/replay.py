"""Coming back to a replayable run: what was missed, then what comes, until the run is over."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing

from .stores.backend import Backend
from .stores.cipher import Cipher
from .stores.event_log import EventLog, Logged
from .stores.replay_events import Gap, RunEnd
from .types import Event


async def replay(
    store: Backend, tenant: str, run_id: str, *, after: int = 0, cipher: Cipher | None = None
) -> AsyncIterator[Event]:
    """The events of a run begun with `replayable=True` whose `seq` is above `after`, then each new one.

    The last is a `RunEnd` with the outcome. It may begin before the run does, and waits for a run whose
    process died until somebody goes on with it. What is missing is told by a `Gap`; one without an end says
    that nothing more will come, because the log is gone. A failure of the store is a StoreError.
    """
    log, seen = EventLog(store, tenant, run_id, ttl_s=None, cipher=cipher), after
    place = await _place_of(log, after)
    if place is None:
        yield Gap(0, after, after, None)
        return
    async with aclosing(log.follow(after=place)) as entries:  # type: ignore[type-var]
        async for entry in entries:
            event, over = entry.event, await _is_the_end(log, entry)
            if event.seq > seen:
                if event.seq > seen + 1:
                    yield Gap(event.attempt, event.seq - 1, seen, event.seq)
                seen = event.seq
                if over or not isinstance(event, RunEnd):  # somebody went on with a run that had failed
                    yield event
            if over:
                return
    yield Gap(0, seen, seen, None)


async def _place_of(log: EventLog, seq: int) -> int | None:
    """Where to begin to read behind an event: usually the entry of that number is it; None without a log."""
    if seq <= 0:
        return 0
    there = await log.read(after=seq - 1, limit=1)
    if there and there[0].event.seq == seq:
        return seq - 1
    return 0 if there or await log.read(limit=1) else None


async def _is_the_end(log: EventLog, entry: Logged) -> bool:
    return isinstance(entry.event, RunEnd) and not await log.read(after=entry.place, limit=1)
