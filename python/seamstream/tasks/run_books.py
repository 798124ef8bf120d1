"""What a run of the model tells a task's ledger: how its attempts began and ended, and what each cost."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..observe.hooks import Record, RunEvent
from ..observe.provenance import Span
from ..recovery.states import RunInput, RunState
from ..types import AttemptRecord, Turn
from .journal import TaskJournal
from .prices import bill
from .records import Fact, TurnRecord
from .target import ModelTarget


class RunBooks:
    """A sink of one run. `numbers` are the task's numbers of the run's attempts, `mine` those attempts of the
    run that this process makes, and `began` says whether one of them has had a stream.
    """

    def __init__(self, journal: TaskJournal, target: ModelTarget) -> None:
        self._journal = journal
        self._target = target
        self.numbers = journal.attempts_of_step()
        self.mine: set[int] = set()
        self.began = False
        self._provenance: tuple[Span, ...] = ()

    def record(self, record: Record) -> None:
        """A sink of the run: its arrows become facts."""
        if not isinstance(record, RunEvent):
            return
        # What a lost owner's attempt had left may be a whole turn: its success is told by who found it.
        saved = record.input is RunInput.SUCCEED and record.attempt in self.numbers
        if record.attempt not in self.mine and not saved:
            return
        if record.input is RunInput.STREAM:
            self.began = True
            asked = self._journal.current_step.input_digest
            model = record.model or self._journal.task.model
            self._note("stream_started", record, model=model, input_digest=asked)
        elif record.input is RunInput.FAIL:
            started = record.state_from is RunState.STREAMING
            if started:
                self._note("stream_failed_after_start", record)
            else:  # nothing that began can be billed by what it told
                self._note("attempt_failed", record, usage_known=False)
        elif record.input is RunInput.GIVE_UP:
            self._note("run_gave_up", record, why=record.why)
        elif record.input is RunInput.ABORT and record.state_from in (
            RunState.REQUESTING,
            RunState.STREAMING,
        ):
            self._note("attempt_failed", record, error="cancelled", usage_known=False)
        elif record.input is RunInput.SUCCEED:
            self._provenance = self._renumbered(record.provenance)
            spans = [[span.start, span.end, span.attempt] for span in self._provenance]
            cut = {"salvaged": record.salvaged, "cause": record.cause, "error": None}
            self._note("attempt_succeeded", record, provenance=spans, **cut)

    def _note(self, event: str, record: RunEvent, **details: Any) -> None:
        known = {
            "error": record.error_code or record.cause,
            "emitted_chars": record.emitted_chars,
            "provider_request_id": record.request_id,
            "target": record.target,
            "gap_s": record.gap_s or None,
        }
        self._journal.note(
            self._journal.fact(event, attempt=self.numbers[record.attempt], **{**known, **details})
        )

    def record_of(self, turn: Turn) -> TurnRecord:
        """What to store of a turn."""
        last = turn.attempts[-1].number if turn.attempts else 0
        numbers = self.numbers
        return TurnRecord(
            turn.text,
            turn.reasoning,
            turn.stop_reason or "other",
            numbers.get(last, self._journal.task.attempts),
            turn.usage,
            self._provenance,
            turn.signed_thinking,
            turn.hints,
        )

    def _renumbered(self, spans: Iterable[Span]) -> tuple[Span, ...]:
        """The spans of a text, with the task's numbers of the attempts."""
        numbers = self.numbers
        return tuple(Span(span.start, span.end, numbers.get(span.attempt, 0)) for span in spans)

    def bills(self, attempts: Iterable[AttemptRecord]) -> list[Fact]:
        """What each attempt of the run cost, as far as it is known. Each is told once."""
        numbers, billed = self.numbers, self._journal.billed
        unbilled = [
            attempt
            for attempt in attempts
            if attempt.number in numbers and numbers[attempt.number] not in billed
        ]
        billed |= {numbers[attempt.number] for attempt in unbilled}
        return [self._bill(attempt) for attempt in unbilled]

    def _bill(self, attempt: AttemptRecord) -> Fact:
        model, target = self._journal.task.model, self._target
        return self._journal.fact(
            "attempt_usage",
            attempt=self.numbers[attempt.number],
            provider_request_id=attempt.request_id,
            **bill(attempt.usage, model=model, dialect=target.dialect, prices=target.prices),
        )

    def note_bills(self, turn: Turn) -> None:
        """Remember what was spent, for the next change."""
        for fact in self.bills(turn.attempts):
            self._journal.note(fact)
