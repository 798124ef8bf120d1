"""One run of the model for a step, on record: no request leaves before the task's budget is charged for it.

The charge is a compare-and-set on the task, so it holds over all processes, and no restart gives it back.
What the run does in between is told to the ledger with the next write, at the latest with the turn itself.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from aiohttp import ClientConnectionError, ClientSession

from ..clock import Clock
from ..environment import apply_environment
from ..errors import StoreError
from ..observe.hooks import Record, RunEvent
from ..observe.provenance import Span
from ..recovery.digests import digest
from ..recovery.prepare import Attempt, AttemptRefusal, AttemptRequest, PrepareAnswer
from ..recovery.states import RunInput, RunState
from ..stores.checkpoints import StreamCheckpointStore
from ..stream import Run, stream
from ..types import AttemptRecord, Event, Plan, Turn
from .journal import TaskJournal
from .prices import bill
from .records import Fact, Kind, TurnRecord
from .target import ModelTarget

_LOG: Final = logging.getLogger("seamstream.tasks")

Keep = Callable[[Turn], Awaitable[None]]
OnEvent = Callable[[Event], None]
_UNDER_WAY = (RunState.REQUESTING, RunState.STREAMING)
_SAME_ANSWER = (Plan.CONTINUE_TEXT.value, Plan.TRUNCATE_BEFORE_TOOL.value)


class BudgetSpent(Exception):
    """The task may not ask the model once more."""


class NoConnection(Exception):
    """The model could not be reached, however often it was tried."""


@dataclass(slots=True)
class ModelTurn:
    """Asks the model for the turn of the journal's current step."""

    journal: TaskJournal
    target: ModelTarget
    session: ClientSession
    checkpoints: StreamCheckpointStore
    clock: Clock
    on_event: OnEvent | None = None
    _numbers: dict[int, int] = field(default_factory=dict)
    """The task's number of each attempt of this run."""
    _mine: set[int] = field(default_factory=set)
    """Those attempts of the run that this process makes."""
    _began: bool = False
    _provenance: tuple[Span, ...] = ()
    _broken: Exception | None = None
    _run: Run | None = None

    async def run(self, document: Mapping[str, Any], headers: Mapping[str, str], keep: Keep) -> None:
        """Stream the turn, and let `keep` store it before the run's checkpoint goes.

        BudgetSpent when the task's budget refuses; NoConnection when no attempt reached the model;
        StoreError and StaleOwner as the journal raises them; else what `stream()` raises for an answer that
        did not come.
        """
        self._numbers = self.journal.attempts_of_step()
        policy = self.target.policy.replace(prepare_attempt=self._prepare, on_store_error="fail")
        run_id = f"{self.journal.task.task_id}/{self.journal.current_step.step_id}"
        observed = apply_environment(policy).mode != "recover"
        if observed:
            await self._charge(1)
        run = stream(
            *(self.session, self.target.url),
            json=document,
            headers=headers,
            policy=policy,
            store=self.checkpoints,
            run_id=run_id,
            sinks=[self],
            clock=self.clock,
            profiles=self.target.profiles or None,
        )
        try:
            async with run:
                self._run = run
                async for event in run:
                    self._tell(event)
                await keep(run.turn)
        except BaseException as error:
            self._note_bills()
            if self._broken is not None:
                raise self._broken from error
            if isinstance(error, ClientConnectionError):
                raise NoConnection(f"{type(error).__name__}: {error}") from error
            raise

    def _tell(self, event: Event) -> None:
        """Who only looks on cannot end the work."""
        if self.on_event is not None:
            try:
                self.on_event(event)
            except Exception:
                self.on_event = None
                _LOG.exception("on_event failed; it is told no more of this turn")

    def record_of(self, turn: Turn) -> TurnRecord:
        """What to store of a turn."""
        last = turn.attempts[-1].number if turn.attempts else 0
        numbers = self._numbers
        return TurnRecord(
            turn.text,
            turn.reasoning,
            turn.stop_reason or "other",
            numbers.get(last, self.journal.task.attempts),
            turn.usage,
            self._provenance,
            turn.signed_thinking,
            turn.hints,
        )

    def _renumbered(self, spans: Iterable[Span]) -> tuple[Span, ...]:
        """The spans of a text, with the task's numbers of the attempts."""
        numbers = self._numbers
        return tuple(Span(span.start, span.end, numbers.get(span.attempt, 0)) for span in spans)

    def bills(self, attempts: Iterable[AttemptRecord]) -> list[Fact]:
        """What each attempt of the run cost, as far as it is known. Each is told once."""
        numbers, billed = self._numbers, self.journal.billed
        unbilled = [
            attempt
            for attempt in attempts
            if attempt.number in numbers and numbers[attempt.number] not in billed
        ]
        billed |= {numbers[attempt.number] for attempt in unbilled}
        return [self._bill(attempt) for attempt in unbilled]

    def _bill(self, attempt: AttemptRecord) -> Fact:
        model, target = self.journal.task.model, self.target
        return self.journal.fact(
            "attempt_usage",
            attempt=self._numbers[attempt.number],
            provider_request_id=attempt.request_id,
            **bill(attempt.usage, model=model, dialect=target.dialect, prices=target.prices),
        )

    def _note_bills(self) -> None:
        if self._run is not None:
            for fact in self.bills(self._run.turn.attempts):
                self.journal.note(fact)

    # ---------------------------------------------------------------- before an attempt

    async def _prepare(self, attempt: Attempt) -> PrepareAnswer:
        try:
            await self._charge(
                attempt.number, plan=attempt.plan, strategy=attempt.strategy, body=attempt.body
            )
        except BudgetSpent as error:
            self._broken = error
            return AttemptRefusal(str(error))
        except StoreError as error:
            self._broken = error
            return AttemptRefusal("the task's records could not be written")
        return await self._asked(attempt)

    async def _asked(self, attempt: Attempt) -> PrepareAnswer:
        """The user's own hook, behind ours."""
        hook = self.target.policy.prepare_attempt
        if hook is None:
            return None
        answer = hook(attempt)
        if answer is None or isinstance(answer, AttemptRequest | AttemptRefusal):
            return answer
        return await answer

    async def _charge(
        self, run_attempt: int, plan: str | None = None, strategy: str | None = None, body: bytes = b""
    ) -> None:
        journal, task = self.journal, self.journal.task
        step = journal.current_step
        earlier = task.step_attempts if task.step == step.number else 0
        if earlier:
            self._check_budget()
        number, kind = task.attempts + 1, _kind(plan, earlier)
        facts = [self._recovery(kind, plan)] if earlier else []
        facts.append(
            journal.fact(
                "attempt_started",
                attempt=number,
                kind=kind,
                run_attempt=run_attempt,
                model=task.model,
                input_digest=step.input_digest,
                request_digest=digest(body),
                plan=plan,
                strategy=strategy,
            )
        )
        await journal.change_task(
            *facts,
            attempts=number,
            step=step.number,
            step_attempts=earlier + 1,
            recoveries=task.recoveries + (1 if earlier else 0),
        )
        self._numbers[run_attempt] = number
        self._mine.add(run_attempt)

    def _check_budget(self) -> None:
        task = self.journal.task
        if task.recoveries >= task.max_recoveries:
            ended = f"; the last attempt ended with {error}" if (error := self.journal.last_error) else ""
            raise BudgetSpent(f"all {task.max_recoveries} recoveries of the task are used{ended}")
        if not task.allow_after_start and (self._began or not self._mine):
            raise BudgetSpent("the task does not allow another attempt after an answer has begun")

    def _recovery(self, kind: str, plan: str | None) -> Fact:
        task = self.journal.task
        return self.journal.fact(
            "recovery_started",
            attempt=task.attempts + 1,
            kind=kind,
            previous_attempt=task.attempts,
            remaining_budget=task.remaining_recoveries - 1,
            plan=plan,
        )

    # ---------------------------------------------------------------- what the run tells

    def record(self, record: Record) -> None:
        """A sink of the run: its arrows become facts."""
        if not isinstance(record, RunEvent):
            return
        # What a lost owner's attempt had left may be a whole turn: its success is told by who found it.
        saved = record.input is RunInput.SUCCEED and record.attempt in self._numbers
        if record.attempt not in self._mine and not saved:
            return
        if record.input is RunInput.STREAM:
            self._began = True
            asked = self.journal.current_step.input_digest
            model = record.model or self.journal.task.model
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
        self.journal.note(
            self.journal.fact(event, attempt=self._numbers[record.attempt], **{**known, **details})
        )


def _kind(plan: str | None, earlier: int) -> Kind | str:
    """What a later attempt does: it gets the rest of the same answer, or samples a new one."""
    if plan in _SAME_ANSWER:
        return "transport"
    return "resample" if earlier else ""
