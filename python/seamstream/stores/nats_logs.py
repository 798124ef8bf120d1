"""Logs in NATS: a subject each, whose messages carry one append's entries.

A message begins with a head: the log's incarnation, the number of its first entry, and whether the log is
mortal or, as its last message, over. JetStream cannot prolong the life of messages that it has, so a mortal
log lives as long as a mark of its own does, a message whose time to live each append renews.
"""

from __future__ import annotations

import enum
import struct
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Final

from ..clock import Clock
from .backend import Key, LogEntry
from .following import Page, follow_pages
from .keys import escape, join
from .nats_streams import LIVES, LOGS, POLL_S, Found, Streams

PAGE: Final = 256
_HEAD: Final = struct.Struct(">16sQB")


class _State(enum.IntEnum):
    IMMORTAL = 0
    MORTAL = 1
    OVER = 2


@dataclass(frozen=True, slots=True)
class _Append:
    """One message of a log."""

    seq: int
    incarnation: bytes
    state: _State
    first: int
    values: tuple[bytes, ...]

    @property
    def last(self) -> int:
        return self.first + len(self.values) - 1

    def entries(self, after: int) -> list[LogEntry]:
        numbered = enumerate(self.values, self.first)
        return [LogEntry(number, value) for number, value in numbered if number > after]


class NatsLogs:
    """The logs of a `NatsBackend`."""

    _streams: Streams
    _clock: Clock

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
                return last + len(values)

    async def read(
        self, tenant: str, log: Key, *, after: int = 0, limit: int | None = None
    ) -> list[LogEntry]:
        subject, mark = self._log_subjects(tenant, log)
        while True:
            live = await self._live(await self._newest(subject), mark)
            if live is None:
                return []
            entries = await self._entries(subject, live, after, limit)
            if entries is not None:
                return entries

    async def follow(self, tenant: str, log: Key, *, after: int = 0) -> AsyncIterator[LogEntry]:
        subject, mark = self._log_subjects(tenant, log)

        async with self._streams.told(subject, self._dropped(subject)) as told:

            async def look(seen: int) -> Page:
                while True:
                    told.clear()
                    live = await self._live(await self._newest(subject), mark)
                    if live is None:
                        return Page()
                    entries = await self._entries(subject, live, seen, PAGE)
                    if entries is not None:
                        return Page(live.incarnation, live.last, entries)

            async def wait() -> None:
                await self._streams.wait(told, POLL_S)

            async with aclosing(follow_pages(look, wait, after)) as found:
                async for entry in found:
                    yield entry

    async def drop(self, tenant: str, log: Key) -> None:
        subject, _ = self._log_subjects(tenant, log)
        while (newest := await self._newest(subject)) is not None:
            if await self._bury(subject, newest):
                break
        await self._streams.tell(self._dropped(subject))

    # ---------------------------------------------------------------- made of the above

    def _log_subjects(self, tenant: str, log: Key) -> tuple[str, str]:
        """Where its entries are, and the mark that a mortal one lives."""
        owner, name = escape(tenant), join(log)
        return self._streams.subject(LOGS, owner, name), self._streams.subject(LIVES, owner, name)

    def _dropped(self, subject: str) -> str:
        return self._streams.subject("dropped", subject)

    async def _newest(self, subject: str) -> _Append | None:
        found = await self._streams.last(LOGS, subject)
        return None if found is None else _unpack(found)

    async def _live(self, newest: _Append | None, mark: str) -> _Append | None:
        """A log's newest message, if the log is not over."""
        if newest is None or newest.state is _State.OVER:
            return None
        if newest.state is _State.MORTAL and await self._streams.last(LIVES, mark) is None:
            return None
        return newest

    async def _added(
        self, subject: str, mark: str, live: _Append | None, values: Sequence[bytes], ttl_s: float | None
    ) -> bool:
        """Append to the log as it stood; False if somebody has changed it since."""
        mortal = live is not None and live.state is _State.MORTAL
        if ttl_s is not None and not await self._renewed(mark, mortal, ttl_s):
            return False
        incarnation = live.incarnation if live is not None else bytes.fromhex(self._clock.uuid())
        state = _State.MORTAL if mortal or ttl_s is not None else _State.IMMORTAL
        payload = _pack(incarnation, state, live.last + 1 if live is not None else 1, values)
        expected = live.seq if live is not None else 0
        published = await self._streams.publish(
            subject, payload, expected=expected, chunks_under=incarnation.hex()
        )
        return published is not None

    async def _renewed(self, mark: str, mortal: bool, ttl_s: float) -> bool:
        """Set the mark anew, before the entries: a mortal log without it is taken for an expired one. An
        expired one must not come back, so the mark of a mortal log is only replaced.
        """
        found = await self._streams.last(LIVES, mark)
        if found is None and mortal:
            return False
        expected = found.seq if found is not None else 0
        return await self._streams.publish(mark, b"", expected=expected, ttl_s=ttl_s) is not None

    async def _entries(
        self, subject: str, live: _Append, after: int, limit: int | None
    ) -> list[LogEntry] | None:
        """Entries up to a log's newest message; None if the log is another one by now."""
        entries = list[LogEntry]()
        seq, wanted = 1, live.last - after if limit is None else min(limit, live.last - after)
        while len(entries) < wanted:
            found = await self._streams.next(LOGS, subject, seq)
            message = None if found is None else _unpack(found)
            if message is None or message.incarnation != live.incarnation:
                return None
            seq = message.seq + 1
            entries += message.entries(after)
        return entries[: max(0, wanted)]

    async def _bury(self, subject: str, newest: _Append) -> bool:
        """End a log in one step, and then remove what is left of it, up to its end and no further: a new log
        may have begun. False if somebody has changed it since.
        """
        end: int | None = newest.seq
        if newest.state is not _State.OVER:
            over = _pack(newest.incarnation, _State.OVER, newest.last + 1, ())
            end = await self._streams.publish(subject, over, expected=newest.seq)
        if end is None:
            return False
        await self._streams.drop_chunks(f"{newest.incarnation.hex()}.*")
        await self._streams.purge(LOGS, subject, upto=end)
        return True


def _pack(incarnation: bytes, state: _State, first: int, values: Sequence[bytes]) -> bytes:
    """Several entries as one message, so that all are there or none."""
    return _HEAD.pack(incarnation, first, state) + b"".join(
        len(value).to_bytes(4, "big") + value for value in values
    )


def _unpack(found: Found) -> _Append:
    data = found.value or b""
    incarnation, first, state = _HEAD.unpack_from(data)
    values, at = list[bytes](), _HEAD.size
    while at < len(data):
        end = at + 4 + int.from_bytes(data[at : at + 4], "big")
        values.append(data[at + 4 : end])
        at = end
    return _Append(found.seq, incarnation, _State(state), first, tuple(values))
