"""What a run did: its state, attempts and cuts, told to the sinks arrow by arrow, and the turn in the end."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from ..observe.hooks import Notice, RunEvent
from ..observe.provenance import provenance
from ..recovery.states import RunInput, RunMachine, RunState
from ..stores.checkpoints import StreamCheckpoint
from ..types import AttemptRecord, Outcome, OutcomeKind, Plan, SeamRecord, Snapshot, Turn, Usage
from .snapshots import AttemptUsage, Bill, extra_usage, sum_usage
from .spec import RunSpec, Services

_REQUEST_ID_HEADERS: Final = ("request-id", "x-request-id", "apim-request-id", "x-amzn-requestid")
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


class RunHistory:
    """Collects; decides nothing."""

    def __init__(self, spec: RunSpec, services: Services) -> None:
        self._spec = spec
        self._clock = services.clock
        self._sinks = services.sinks
        self._machine = RunMachine()
        self.attempts: list[AttemptRecord] = []
        self.streamed: list[Streamed] = []
        self.earlier_seams: tuple[SeamRecord, ...] = ()
        self._earlier_restarts = 0
        self.causes: list[str] = []
        self.hints: tuple[str, ...] = ()
        self.model = ""
        self.target = spec.target
        self.gap_s = 0.0
        self.outcome: Outcome | None = None
        self._discarded = False
        self._untold: list[RunEvent] = []

    @property
    def attempt(self) -> int:
        """The number of the current attempt."""
        return self.attempts[-1].number if self.attempts else 0

    @property
    def over(self) -> bool:
        return self._machine.state.final

    @property
    def streaming(self) -> bool:
        return self._machine.state is RunState.STREAMING

    def discard(self) -> None:
        """This was no stream after all: nobody is told about it."""
        self._discarded = True
        self._untold.clear()

    @property
    def request_ids(self) -> tuple[str, ...]:
        return tuple(record.request_id for record in self.attempts if record.request_id)

    @property
    def restarts(self) -> int:
        return self._earlier_restarts + sum(part.restart for part in self.streamed)

    def take_over(self, checkpoint: StreamCheckpoint) -> None:
        """Go on with the books of another process; its last attempt is the one that is cut now."""
        self.attempts = list(checkpoint.attempts)
        self.earlier_seams = checkpoint.seams
        self._earlier_restarts = checkpoint.restarts
        self.causes = [record.cause for record in self.attempts if record.cause is not None]
        self.streamed = [Streamed(checkpoint.attempt, self.causes[-1] if self.causes else "")]
        self._go(RunInput.REQUEST)
        self._go(RunInput.STREAM)

    # ------------------------------------------------------------ arrows

    def requested(
        self, number: int, *, plan: str | None, strategy: str | None, target: str | None = None
    ) -> None:
        unknown = Usage(complete=False)
        self.target = target or self._spec.target
        record = AttemptRecord(
            *(number, self._clock.wall()), plan=plan, strategy=strategy, usage=unknown, target=self.target
        )
        self.attempts.append(record)
        self._go(RunInput.REQUEST, plan=plan, strategy=strategy)

    def answered(self, status: int, headers: Mapping[str, str]) -> None:
        request_id = next((headers[name] for name in _REQUEST_ID_HEADERS if name in headers), None)
        self._amend(status=status, request_id=request_id)

    def began_streaming(
        self, *, restart: bool, text_before: int, resumes: bool = False, model: str = ""
    ) -> None:
        cause = self.causes[-1] if self.causes else ""
        self.streamed.append(Streamed(self.attempt, cause, restart, text_before, resumes, model=model))
        self._go(RunInput.STREAM)

    def failed(self, *, cause: str | None, plan: str | None, error: str | None) -> None:
        """The attempt was cut, or failed before its stream began (`cause` is None)."""
        if cause is not None:
            self.causes.append(cause)
        self._mark_cut()
        self._end_attempt(cause=cause, error=error)
        self._go(RunInput.FAIL, cause=cause, plan=plan, error_code=error)

    def budgeted(self, *, plan: str | None, strategy: str | None) -> None:
        self._go(RunInput.BUDGET, plan=plan, strategy=strategy)

    def succeeded(
        self,
        snapshot: Snapshot | None,
        core: CoreFacts,
        *,
        degraded: str | None,
        salvaged: str | None,
        cause: str | None = None,
    ) -> Turn:
        """The turn is whole; with `cause` the last attempt was cut and the plan `salvaged` closed it."""
        if cause is not None:
            self.causes.append(cause)
            if salvaged != Plan.COMPLETE.value:
                self._mark_cut()
        self._end_attempt(cause=cause, error=None)
        kind: OutcomeKind = "recovered" if len(self.attempts) > 1 else "complete"
        if salvaged is not None and (kind == "complete" or salvaged != Plan.COMPLETE.value):
            kind = "salvaged"
        turn = self._turn(kind, snapshot, core, degraded, salvaged)
        spans = provenance(len(turn.text), turn.seams, first_attempt=self._first_text_attempt())
        cut = {} if cause is None else {"cause": cause, "plan": salvaged}
        self._go(
            RunInput.SUCCEED, salvaged=salvaged, outcome=turn.outcome, turn=turn, provenance=spans, **cut
        )
        self._close(turn.outcome)
        return turn

    def gave_up(
        self, snapshot: Snapshot | None, core: CoreFacts, *, degraded: str | None, code: str, why: str
    ) -> Turn:
        begun = snapshot is not None and snapshot.shown.anything
        turn = self._turn("truncated" if begun else "failed", snapshot, core, degraded, None)
        self._go(RunInput.GIVE_UP, error_code=code, why=why, outcome=turn.outcome)
        self._close(turn.outcome)
        return turn

    def left(self, snapshot: Snapshot | None, core: CoreFacts, *, degraded: str | None) -> Turn:
        """The reader left, or ended the run. Who leaves behind the proof has the whole answer, as SDKs that
        stop at it.
        """
        if snapshot is not None and snapshot.terminal_seen and self.streaming:
            return self.succeeded(snapshot, core, degraded=degraded, salvaged=None)
        self._mark_cut()
        self._end_attempt(cause=None, error=None)
        turn = self._turn("cancelled", snapshot, core, degraded, None)
        self._go(RunInput.ABORT, outcome=turn.outcome)
        self._close(turn.outcome)
        return turn

    def notice(self, kind: str, detail: str) -> None:
        self._sinks.record(Notice(kind, self._clock.wall(), self.target, self._spec.run_id, detail))

    # ------------------------------------------------------------ the turn

    def turn_so_far(self, snapshot: Snapshot | None, core: CoreFacts, degraded: str | None) -> Turn:
        """The turn as it stands, for an error that carries it."""
        return self._turn("truncated", snapshot, core, degraded, None)

    def count_deltas(self, content_deltas: int) -> None:
        """Note how many deltas the current attempt brought, for when it never reports its usage."""
        if self.streamed:
            self.streamed[-1].content_deltas = content_deltas

    def seams(self, core: CoreFacts) -> tuple[SeamRecord, ...]:
        """The seams of the turn, with the cause of each."""
        own = (self._seam(*seam) for seam in core.seams)
        return (*self.earlier_seams, *own)

    def _seam(self, offset: int, plan: str, join: str, core_attempt: int, guess: bool) -> SeamRecord:
        index = min(core_attempt, len(self.streamed)) - 1
        part = self.streamed[index]
        return SeamRecord(offset, part.cause, plan, join, part.number, guess, *self.model_change(index))

    def model_change(self, index: int = -1) -> tuple[str | None, str | None]:
        """The models before and after a streamed attempt began; none where it is the same one."""
        parts = self.streamed[: index or None] if index < 0 else self.streamed[:index]
        if not parts or parts[-1].model == self.streamed[index].model:
            return None, None
        return parts[-1].model, self.streamed[index].model

    def _first_text_attempt(self) -> int:
        restarts = [part.number for part in self.streamed if part.restart]
        return restarts[-1] if restarts else (self.streamed[0].number if self.streamed else 1)

    def _turn(
        self,
        kind: OutcomeKind,
        snapshot: Snapshot | None,
        core: CoreFacts,
        degraded: str | None,
        plan: str | None,
    ) -> Turn:
        bills = self.bills(core.usages)
        self._file_bills(bills)
        usage = sum_usage(bills)
        seams = self.seams(core)
        outcome = Outcome(
            kind,
            len(self.attempts),
            tuple(seam.join for seam in seams),
            extra_usage(bills),
            self._spec.run_id,
            self.request_ids,
            degraded,
            plan or next((record.plan for record in reversed(self.attempts) if record.plan), None),
            tuple(self.causes),
        )
        attempts = tuple(self.attempts)
        if snapshot is None:
            return Turn("", "", "", (), usage, None, attempts, seams, self.hints, outcome)
        said = (snapshot.text, snapshot.reasoning, snapshot.refusal, snapshot.completed_tool_calls)
        stopped, signed = snapshot.stop_reason, snapshot.signed_thinking
        return Turn(*said, usage, stopped, attempts, seams, self.hints, outcome, signed)

    def bills(self, usages: tuple[AttemptUsage, ...]) -> list[Bill]:
        """What each streamed attempt cost, as far as that is known."""
        reports = iter([*usages, *[_NOTHING_REPORTED] * len(self.streamed)])
        bills: list[Bill] = []
        for at, part in enumerate(self.streamed):
            if part.resumes and at:
                bills.append(Bill(_NOTHING_REPORTED, 0, part.cut, resumes=True))
                continue
            last = part
            for later in self.streamed[at + 1 :]:
                if not later.resumes:
                    break
                last = later
            bills.append(Bill(next(reports), last.content_deltas, last.cut))
        return bills

    def produced_tokens(self, usages: tuple[AttemptUsage, ...]) -> int:
        """A lower bound of what the text in hand took: what a restart threw away does not count."""
        first = max((at for at, part in enumerate(self.streamed) if part.restart), default=0)
        bills = self.bills(usages)[first:]
        return sum(max(bill.output_tokens or 0, bill.content_deltas) for bill in bills)

    def _file_bills(self, bills: list[Bill]) -> None:
        """Each attempt's own usage into its record."""
        known = {part.number: bill.usage for part, bill in zip(self.streamed, bills, strict=True)}
        self.attempts = [
            dataclasses.replace(record, usage=known.get(record.number, record.usage))
            for record in self.attempts
        ]

    # ------------------------------------------------------------ telling

    def note_text(self, text_chars: int) -> None:
        """How many characters of the answer the current attempt has brought."""
        if self.streamed and self.streamed[-1].number == self.attempt:
            self._amend(emitted_chars=max(0, text_chars - self.streamed[-1].text_before))

    def _mark_cut(self) -> None:
        """The current attempt never came to its own end, so its bill did not come either."""
        if self.streamed and self.streamed[-1].number == self.attempt:
            self.streamed[-1].cut = True

    def _end_attempt(self, *, cause: str | None, error: str | None) -> None:
        if self.attempts and self.attempts[-1].ended_at is None:
            self._amend(ended_at=self._clock.wall(), cause=cause, error=error)

    def _amend(self, **changes: Any) -> None:
        self.attempts[-1] = dataclasses.replace(self.attempts[-1], **changes)

    def _go(self, event: RunInput, **facts: Any) -> None:
        before = self._machine.state
        after = self._machine.apply(event)
        record = self.attempts[-1] if self.attempts else None
        gap_s = 0.0
        if event in (RunInput.FAIL, RunInput.SUCCEED, RunInput.ABORT):
            gap_s, self.gap_s = self.gap_s, 0.0
        spec = self._spec
        known: dict[str, Any] = {
            "target": self.target,
            "dialect": spec.dialect,
            "model": self.model,
            "mode": spec.mode,
            "request_id": record.request_id if record else None,
            "emitted_chars": record.emitted_chars if record else 0,
            "gap_s": gap_s,
        }
        told = RunEvent(
            spec.run_id,
            self.attempt,
            self._clock.wall(),
            before,
            event,
            after,
            **{**known, **facts},
        )
        self._tell(told)

    def _tell(self, record: RunEvent) -> None:
        """The first request's record waits for what comes of it: it may turn out to be none of ours."""
        self._untold.append(record)
        if (
            self._discarded
            or len(self._untold) > 1
            or len(self.attempts) > 1
            or record.input is not RunInput.REQUEST
        ):
            untold, self._untold = self._untold, []
            for each in untold if not self._discarded else ():
                self._sinks.record(each)

    def _close(self, outcome: Outcome) -> None:
        self.outcome = outcome
        if self._discarded:
            return
        for collect in self._spec.collectors:
            collect(outcome)
