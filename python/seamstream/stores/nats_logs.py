"""Logs in NATS: a subject each, whose messages carry one append's entries.

A message's label names the log's incarnation, the numbers of its entries, and whether the log is mortal or,
in its last message, over. JetStream cannot prolong the life of messages that it has, so a mortal log lives as
long as a mark of its own does: a message whose time to live each append renews.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from typing import Final

from ..clock import Clock
from ..errors import StoreError
from .backend import Key, LogEntry
from .following import Page, follow_pages
from .in_time import in_time
from .keys import escape, join
from .nats_connection import POLL_S
from .nats_entries import Appended, Entries, State, pack
from .nats_reading import LIVES, LOGS
from .nats_streams import Streams

PAGE: Final = 256
SWEPT: Final = 16
"""How many marks are looked at, when a mortal log begins, for logs that have expired."""


class NatsLogs:
    """The logs of a `NatsBackend`."""

    timeout_s: float
    server_name: str
    _streams: Streams
    _clock: Clock
    _swept = 1

    @in_time
    async def append(
        self,
        tenant: str,
        log: Key,
        values: Sequence[bytes],
        *,
        after: int | None = None,
        ttl_s: float | None = None,
    ) -> int | None:
        subject, mark = self._log_subjects(tenant, log)
        while True:
            newest = await self._newest(subject)
            live = await self._live(newest, mark)
            last = live.last if live is not None else 0
            if after not in (None, last):
                return None
            if not values:
                return last
            if newest is not None and live is None:
                await self._bury(subject, newest)
            elif await self._added(subject, mark, live, values, ttl_s):
                break
        if live is None and ttl_s is not None:
            await self._sweep()
        return last + len(values)

    @in_time
    async def read(
        self, tenant: str, log: Key, *, after: int = 0, limit: int | None = None
    ) -> list[LogEntry]:
        subject, mark = self._log_subjects(tenant, log)
        return (await self._page(subject, mark, Entries(self._streams, subject), after, limit)).entries

    async def follow(self, tenant: str, log: Key, *, after: int = 0) -> AsyncIterator[LogEntry]:
        subject, mark = self._log_subjects(tenant, log)
        place = Entries(self._streams, subject)
        async with self._streams.told(subject, self._dropped(subject)) as told:

            async def look(seen: int) -> Page:
                told.clear()
                return await self._page(subject, mark, place, seen, PAGE)

            async def wait() -> None:
                await self._streams.wait(told, POLL_S)

            async with aclosing(follow_pages(look, wait, after)) as found:
                async for entry in found:
                    yield entry

    @in_time
    async def drop(self, tenant: str, log: Key) -> None:
        subject, _ = self._log_subjects(tenant, log)
        while (newest := await self._newest(subject)) is not None:
            if await self._bury(subject, newest):
                break
        await self._streams.tell(self._dropped(subject))

    # ---------------------------------------------------------------- made of the above

    @in_time
    async def _page(self, subject: str, mark: str, place: Entries, after: int, limit: int | None) -> Page:
        direct, before = True, None
        while True:
            live = await self._live(await self._newest(subject), mark)
            if live is None:
                return Page()
            wanted = live.last - after
            entries = await place.between(
                live, after, wanted if limit is None else min(limit, wanted), direct=direct
            )
            if entries is not None:
                return Page(live.incarnation, live.last, entries)
            if not direct and live == before:
                raise StoreError(f"the log {subject} has lost entries between {after} and {live.last}")
            direct, before = live != before, live

    def _log_subjects(self, tenant: str, log: Key) -> tuple[str, str]:
        """Where its entries are, and the mark that a mortal one lives."""
        owner, name = escape(tenant), join(log)
        return self._streams.subject(LOGS, owner, name), self._streams.subject(LIVES, owner, name)

    def _dropped(self, subject: str) -> str:
        return self._streams.subject("dropped", subject)

    async def _newest(self, subject: str) -> Appended | None:
        found = await self._streams.last(LOGS, subject, whole=False)
        return None if found is None else Appended.of(found)

    async def _live(self, newest: Appended | None, mark: str) -> Appended | None:
        """A log's newest message, if the log is not over."""
        if newest is None or newest.state is State.OVER:
            return None
        if newest.state is State.MORTAL:
            found = await self._streams.last(LIVES, mark)
            return newest if found is not None and not found.expired else None
        return newest

    async def _added(
        self, subject: str, mark: str, live: Appended | None, values: Sequence[bytes], ttl_s: float | None
    ) -> bool:
        """Append to the log as it stood; False if somebody has changed it since."""
        mortal = live is not None and live.state is State.MORTAL
        if ttl_s is not None and not await self._renewed(mark, mortal, ttl_s):
            return False
        incarnation = live.incarnation if live is not None else self._clock.uuid()
        state = State.MORTAL if mortal or ttl_s is not None else State.IMMORTAL
        first = live.last + 1 if live is not None else 1
        published = await self._streams.publish(
            subject,
            pack(values),
            expected=live.seq if live is not None else 0,
            label=Appended.label(incarnation, state, first, len(values)),
            chunks_under=incarnation,
        )
        return published is not None

    async def _renewed(self, mark: str, mortal: bool, ttl_s: float) -> bool:
        """Set the mark anew, before the entries: a mortal log without it is taken for an expired one. An
        expired one must not come back, so the mark of a mortal log is only replaced.
        """
        found = await self._streams.last(LIVES, mark)
        if mortal and (found is None or found.expired):
            return False
        expected = found.seq if found is not None else 0
        return await self._streams.publish(mark, b"", expected=expected, ttl_s=ttl_s) is not None

    async def _bury(self, subject: str, newest: Appended) -> bool:
        """End a log in one step, and then remove what is left of it, up to its end and no further: a new log
        may have begun. False if somebody has changed it since.
        """
        end: int | None = newest.seq
        if newest.state is not State.OVER:
            label = Appended.label(newest.incarnation, State.OVER, newest.last + 1, 0)
            end = await self._streams.publish(subject, b"", expected=newest.seq, label=label)
        if end is None:
            return False
        await self._streams.drop_chunks(f"{newest.incarnation}.*")
        await self._streams.purge(LOGS, subject, upto=end)
        return True

    async def _sweep(self) -> None:
        """Bury some logs that have expired, each time others."""
        marks = await self._streams.batch(LIVES, self._streams.subject(LIVES, ">"), self._swept, SWEPT)
        self._swept = marks[-1].seq + 1 if len(marks) == SWEPT else 1
        for found in marks:
            if not found.expired:
                continue
            subject = self._streams.subject(LOGS, self._streams.tokens(LIVES, found.subject))
            newest = await self._newest(subject)
            if newest is not None and await self._live(newest, found.subject) is None:
                await self._bury(subject, newest)
            await self._streams.purge(LIVES, found.subject, upto=found.seq)
