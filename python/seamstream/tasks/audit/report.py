"""What an audit says: answers, acceptance rows and alarms, each with the ledger entries that show it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from ..records import TaskState

Verdict = Literal["pass", "fail", "unknown"]


@dataclass(frozen=True, slots=True)
class Note:
    """One statement. `entries` are the numbers of the ledger entries that it rests on."""

    text: str
    entries: tuple[int, ...] = ()


@dataclass(slots=True)
class Findings:
    """What a check has come upon so far: what is wrong, what it cannot tell, and what it has seen."""

    problems: list[Note] = field(default_factory=list)
    doubts: list[Note] = field(default_factory=list)
    proofs: list[Note] = field(default_factory=list)

    def fail(self, text: str, *entries: int) -> None:
        self.problems.append(Note(text, entries))

    def doubt(self, text: str, *entries: int) -> None:
        self.doubts.append(Note(text, entries))

    def show(self, text: str, *entries: int) -> None:
        self.proofs.append(Note(text, entries))

    @property
    def verdict(self) -> Verdict:
        return "fail" if self.problems else "unknown" if self.doubts else "pass"

    @property
    def notes(self) -> tuple[Note, ...]:
        """What is said of it: of a row that does not pass only why."""
        return (*self.problems, *self.doubts) or tuple(self.proofs)


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the acceptance table. `action`: what to do when it does not pass."""

    number: int
    name: str
    standard: str
    action: str
    verdict: Verdict
    notes: tuple[Note, ...]


@dataclass(frozen=True, slots=True)
class Alarm:
    """One alarm condition of the unified events. `raised` is None where one task cannot tell."""

    event: str
    condition: str
    raised: bool | None
    notes: tuple[Note, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """One of the four questions, answered."""

    question: str
    notes: tuple[Note, ...]


@dataclass(frozen=True, slots=True)
class Audit:
    """The whole report. `checked_at_s` is seconds since the epoch."""

    tenant: str
    task_id: str
    state: TaskState
    evidence_ref: str
    checked_at_s: float
    answers: tuple[Answer, ...]
    rows: tuple[Row, ...]
    alarms: tuple[Alarm, ...]

    @property
    def passed(self) -> bool:
        """Every row passes: one that nobody can judge does not."""
        return all(row.verdict == "pass" for row in self.rows)
