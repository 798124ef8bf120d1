"""Logs in this process's memory."""

from __future__ import annotations

import asyncio
from collections import OrderedDict, defaultdict
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial
from itertools import count, islice
from typing import Final, Protocol, TypeVar

from ..clock import Clock
from ..errors import StoreError
from .backend import Key, LogEntry
from .following import Page, follow_pages
from .keys import join

SWEPT: Final = 4
"""How many records or logs a write looks at, whether they have expired."""
Place = tuple[str, str]
"""A tenant and a joined key or the name of a queue."""


class _Mortal(Protocol):
    expires_at: float | None


M = TypeVar("M", bound=_Mortal)


def sweep(kept: OrderedDict[Place, M], now: float) -> None:
    """Look at those that were not looked at for the longest time, and remove what has expired."""
    for place in list(islice(kept, SWEPT)):
        expires_at = kept[place].expires_at
        if expires_at is not None and expires_at <= now:
            del kept[place]
        else:
            kept.move_to_end(place)


@dataclass(slots=True)
class _Log:
    incarnation: int
    entries: list[LogEntry] = field(default_factory=list)
    expires_at: float | None = None


class MemoryLogs:
    """The logs of a `MemoryBackend`."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._logs = OrderedDict[Place, _Log]()
        self._followers = defaultdict[Place, set[asyncio.Event]](set)
        self._begun = count(1)
        self._closed = False

    async def append(
        self,
        tenant: str,
        log: Key,
        values: Sequence[bytes],
        *,
        after: int | None = None,
        ttl_s: float | None = None,
    ) -> int | None:
        place = (tenant, join(log))
        found = self._log(place)
        last = 0 if found is None else len(found.entries)
        if after not in (None, last):
            return None
        if not values:
            return last
        if found is None:
            found = self._logs[place] = _Log(next(self._begun))
            sweep(self._logs, self._clock.monotonic())
        if ttl_s is not None:
            found.expires_at = self._clock.monotonic() + ttl_s
        found.entries += [LogEntry(last + number, value) for number, value in enumerate(values, 1)]
        self._wake(place)
        return last + len(values)

    async def read(
        self, tenant: str, log: Key, *, after: int = 0, limit: int | None = None
    ) -> list[LogEntry]:
        end = None if limit is None else after + limit
        found = self._log((tenant, join(log)))
        return found.entries[after:end] if found is not None else []

    async def follow(self, tenant: str, log: Key, *, after: int = 0) -> AsyncIterator[LogEntry]:
        place, grown = (tenant, join(log)), asyncio.Event()

        async def look(seen: int) -> Page:
            grown.clear()
            if self._closed:
                raise StoreError("the store is closed")
            found = self._log(place)
            if found is None:
                return Page()
            return Page(found.incarnation, len(found.entries), found.entries[seen:])

        self._followers[place].add(grown)
        try:
            async with aclosing(
                follow_pages(look, partial(self._until_grown, place, grown), after)
            ) as entries:
                async for entry in entries:
                    yield entry
        finally:
            self._followers[place].discard(grown)
            if not self._followers[place]:
                del self._followers[place]

    async def drop(self, tenant: str, log: Key) -> None:
        self._logs.pop((tenant, join(log)), None)
        self._wake((tenant, join(log)))

    def _log(self, place: Place) -> _Log | None:
        found = self._logs.get(place)
        if found is None or found.expires_at is None or found.expires_at > self._clock.monotonic():
            return found
        del self._logs[place]
        return None

    async def _until_grown(self, place: Place, grown: asyncio.Event) -> None:
        """Wait until the log has changed or is over."""
        found = self._log(place)
        if found is None or found.expires_at is None:
            await grown.wait()
            return
        timer = self._clock.call_later(found.expires_at - self._clock.monotonic(), grown.set)
        try:
            await grown.wait()
        finally:
            timer.cancel()

    def _wake(self, place: Place) -> None:
        for grown in self._followers.get(place, ()):
            grown.set()

    def _close(self) -> None:
        self._closed = True
        for place in self._followers:
            self._wake(place)
