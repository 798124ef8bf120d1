"""What the ledger says of each attempt: its beginnings, its ends and its bills."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from ..ledger import Entry
from ..open_attempts import ENDED, STARTED

SUCCEEDED: Final = "attempt_succeeded"
STREAMED: Final = "stream_started"
BILLED: Final = "attempt_usage"
OWNER_LOST: Final = "owner_lost"
COUNTERS: Final = ("input_tokens", "output_tokens")


@dataclass(slots=True)
class AttemptTrail:
    """One attempt's entries, by what they are."""

    number: int
    starts: list[Entry] = field(default_factory=list)
    streams: list[Entry] = field(default_factory=list)
    ends: list[Entry] = field(default_factory=list)
    bills: list[Entry] = field(default_factory=list)

    def add(self, entry: Entry) -> None:
        kinds = {STARTED: self.starts, STREAMED: self.streams, BILLED: self.bills}
        if entry.event in ENDED:
            self.ends.append(entry)
        elif entry.event in kinds:
            kinds[entry.event].append(entry)

    @property
    def seqs(self) -> tuple[int, ...]:
        """The numbers of its entries, in order."""
        return tuple(sorted(entry.seq for entry in (*self.starts, *self.streams, *self.ends, *self.bills)))

    @property
    def succeeded(self) -> bool:
        return any(end.event == SUCCEEDED for end in self.ends)

    @property
    def saved(self) -> bool:
        """Lost with its owner, and found whole in its checkpoint by the next one; or it brought nothing, and
        what was there before it was whole without it.
        """
        if [end.event for end in self.ends] != ["attempt_failed", SUCCEEDED]:
            return False
        lost, found = (end.details for end in self.ends)
        brought_nothing = not self.streams
        return bool(found.get("salvaged")) and (lost.get("error") == OWNER_LOST or brought_nothing)

    @property
    def counted(self) -> Entry | None:
        """The entry with the tokens that a provider reported, the last one if there are several."""
        told = [bill for bill in self.bills if any(name in bill.details for name in COUNTERS)]
        return told[-1] if told else None

    @property
    def uncounted(self) -> Entry | None:
        """The entry that says in so many words that nobody reported the usage."""
        silent = [bill for bill in self.bills if bill.details.get("estimated") is True]
        silent += [end for end in self.ends if end.details.get("usage_known") is False]
        return silent[-1] if silent else None


def trails_of(entries: Iterable[Entry]) -> tuple[AttemptTrail, ...]:
    """A trail for each attempt that the ledger knows, by number."""
    trails: dict[int, AttemptTrail] = {}
    for entry in entries:
        if entry.event in ENDED or entry.event in (STARTED, STREAMED, BILLED):
            trails.setdefault(entry.attempt, AttemptTrail(entry.attempt)).add(entry)
    return tuple(trails[number] for number in sorted(trails))


def counted(number: int, what: str) -> str:
    """The number and the noun that goes with it."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def count_in(entry: Entry, name: str) -> int:
    """A count in an entry's details; 0 when it is not there."""
    value: Any = entry.details.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
