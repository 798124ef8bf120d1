"""The attempts of a run whose streams began: what each cost, and where they meet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ..types import SeamRecord
from .snapshots import AttemptUsage, Bill

_NOTHING_REPORTED: Final[AttemptUsage] = (None, None, None, None)


@dataclass(frozen=True, slots=True)
class CoreFacts:
    """What only the core can say at the end: its seams and each streamed attempt's usage."""

    seams: tuple[tuple[int, str, str, int, bool], ...] = ()
    usages: tuple[AttemptUsage, ...] = ()


@dataclass(slots=True)
class Streamed:
    """An attempt whose stream began. The core numbers these from 1; `cause` is the cut that led to it."""

    number: int
    cause: str
    restart: bool = False
    text_before: int = 0
    resumes: bool = False
    """It takes up the response of the one before."""
    content_deltas: int = 0
    cut: bool = False
    model: str = ""
    """The model asked; empty where it cannot change within a run."""


class Streams(list[Streamed]):
    """All of them, in order."""

    def seams(self, core: CoreFacts) -> tuple[SeamRecord, ...]:
        """The seams between them, with the cause of each."""
        return tuple(self._seam(*seam) for seam in core.seams)

    def _seam(self, offset: int, plan: str, join: str, core_attempt: int, guess: bool) -> SeamRecord:
        index = min(core_attempt, len(self)) - 1
        part = self[index]
        return SeamRecord(offset, part.cause, plan, join, part.number, guess, *self.model_change(index))

    def model_change(self, index: int = -1) -> tuple[str | None, str | None]:
        """The models before and after a streamed attempt began; none where it is the same one."""
        parts = self[: index or None] if index < 0 else self[:index]
        if not parts or parts[-1].model == self[index].model:
            return None, None
        return parts[-1].model, self[index].model

    def first_text_attempt(self) -> int:
        """The number of the attempt that the text begins with."""
        restarts = [part.number for part in self if part.restart]
        return restarts[-1] if restarts else (self[0].number if self else 1)

    def bills(self, usages: tuple[AttemptUsage, ...]) -> list[Bill]:
        """What each streamed attempt cost, as far as that is known."""
        reports = iter([*usages, *[_NOTHING_REPORTED] * len(self)])
        bills: list[Bill] = []
        for at, part in enumerate(self):
            if part.resumes and at:
                bills.append(Bill(_NOTHING_REPORTED, 0, part.cut, resumes=True))
                continue
            last = part
            for later in self[at + 1 :]:
                if not later.resumes:
                    break
                last = later
            bills.append(Bill(next(reports), last.content_deltas, last.cut))
        return bills

    def produced_tokens(self, usages: tuple[AttemptUsage, ...]) -> int:
        """A lower bound of what the text in hand took: what a restart threw away does not count."""
        first = max((at for at, part in enumerate(self) if part.restart), default=0)
        bills = self.bills(usages)[first:]
        return sum(max(bill.output_tokens or 0, bill.content_deltas) for bill in bills)

    def of(self, attempt: int) -> Streamed | None:
        """The last one, if it is that attempt's."""
        return self[-1] if self and self[-1].number == attempt else None
