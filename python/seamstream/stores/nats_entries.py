"""Finds a log's entries in its subject, from any number on, without reading those before it.

Numbers and sequences rise together, so the message that holds a number is found by looking where it should
be, again and again; the rest is read in batches.
"""

from __future__ import annotations

import enum
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Final

from .backend import LogEntry
from .nats_reading import LOGS, Found
from .nats_streams import Streams

NEAR: Final = 16
"""That many entries before the wanted one are read rather than searched."""


class State(enum.IntEnum):
    """Of a log, in the label of its newest message."""

    IMMORTAL = 0
    MORTAL = 1
    OVER = 2


@dataclass(frozen=True, slots=True)
class Appended:
    """One message of a log, by its label."""

    seq: int
    incarnation: str
    state: State
    first: int
    last: int
    found: Found

    @classmethod
    def of(cls, found: Found) -> Appended:
        incarnation, state, first, count = found.label.split(".")
        last = int(first) + int(count) - 1
        return cls(found.seq, incarnation, State(int(state)), int(first), last, found)

    @staticmethod
    def label(incarnation: str, state: State, first: int, count: int) -> str:
        return f"{incarnation}.{state}.{first}.{count}"

    def entries(self, value: bytes, after: int) -> list[LogEntry]:
        numbered = enumerate(_unpack(value), self.first)
        return [LogEntry(number, entry) for number, entry in numbered if number > after]


class Entries:
    """A log's entries; who reads on with the same one starts where it stopped."""

    def __init__(self, streams: Streams, subject: str) -> None:
        self._streams, self._subject = streams, subject
        self._next = (0, "", 0)
        """The number of an entry, its incarnation, and a sequence from which it is found."""

    async def between(
        self, live: Appended, after: int, wanted: int, *, direct: bool
    ) -> list[LogEntry] | None:
        """So many entries, of those up to the log's newest message; None if the log is another by now.
        `direct`: also those servers are asked that may lag behind, and then None may mean that.
        """
        entries = list[LogEntry]()
        if wanted <= 0:
            return entries
        async for message in self._messages(live, after, wanted if direct else 0):
            number = after + len(entries) + 1
            complete = await self._streams.loaded(message.found)
            if message.incarnation != live.incarnation or message.first > number or complete is None:
                return None
            entries += message.entries(complete.value or b"", after + len(entries))
            if len(entries) >= wanted:
                read_on = message.seq + (len(entries) == wanted)
                self._next = (after + wanted + 1, live.incarnation, read_on)
                return entries[:wanted]
        return None

    async def _messages(self, live: Appended, after: int, at_once: int) -> AsyncIterator[Appended]:
        """From one that is not later than the next entry's, to the newest; the first ones in batches."""
        if live.first <= after + 1:
            yield live
            return
        seq = await self._position(live, after + 1)
        async for found in self._streams.each(LOGS, self._subject, seq, at_once):
            message = Appended.of(found)
            seq = message.seq + 1
            if message.last > after:
                yield message
        while seq <= live.seq:  # whoever answered lags behind
            later = await self._streams.next(LOGS, self._subject, seq, whole=False)
            if later is None:
                return
            seq = later.seq + 1
            yield Appended.of(later)

    async def _position(self, live: Appended, number: int) -> int:
        """The sequence of a message that holds that entry, or of one just before."""
        if self._next[:2] == (number, live.incarnation):
            return self._next[2]
        low, high = (1, 1), (live.seq, live.first)  # sequences, and the numbers that are found there
        for guesses in count():
            if low[0] >= high[0]:
                break
            guess = _between(low, high, number - NEAR // 2)
            if guesses % 3 == 2:  # where numbers rise unevenly, halves are sooner there
                guess = (low[0] + high[0] - 1) // 2
            found = await self._streams.next(LOGS, self._subject, guess, whole=False)
            message = None if found is None else Appended.of(found)
            if message is None or message.incarnation != live.incarnation or message.first > number:
                high = (guess, high[1] if message is None else min(high[1], message.first))
            elif number - message.first <= NEAR or message.last >= number:
                return message.seq
            else:
                low = (message.seq + 1, message.last + 1)
        return low[0]


def _between(low: tuple[int, int], high: tuple[int, int], number: int) -> int:
    """Where that number should be if numbers rise evenly."""
    share = (number - low[1]) / max(1, high[1] - low[1])
    return low[0] + int((high[0] - 1 - low[0]) * min(1.0, max(0.0, share)))


def pack(values: Sequence[bytes]) -> bytes:
    """Several entries as one message, so that all are there or none."""
    return b"".join(len(value).to_bytes(4, "big") + value for value in values)


def _unpack(data: bytes) -> list[bytes]:
    values, at = list[bytes](), 0
    while at < len(data):
        end = at + 4 + int.from_bytes(data[at : at + 4], "big")
        values.append(data[at + 4 : end])
        at = end
    return values
