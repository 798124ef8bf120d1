"""What a run did: its state, attempts and cuts, told to the sinks arrow by arrow, and the turn in the end."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Final

from ..observe.hooks import Notice, RunEvent
from ..observe.provenance import provenance
from ..recovery.states import RunInput, RunMachine, RunState
from ..stores.checkpoints import StreamCheckpoint
from ..types import AttemptRecord, Outcome, OutcomeKind, Plan, SeamRecord, Snapshot, Turn, Usage
from .snapshots import Bill, extra_usage, sum_usage
from .spec import RunSpec, Services
from .streams import CoreFacts, Streamed, Streams
from .telling import Teller

_REQUEST_ID_HEADERS: Final = ("request-id", "x-request-id", "apim-request-id", "x-amzn-requestid")


class RunHistory:
    """Collects; decides nothing."""

    def __init__(self, spec: RunSpec, services: Services) -> None:
        self._spec = spec
        self._clock = services.clock
        self._sinks = services.sinks
        self._machine = RunMachine()
        self.attempts: list[AttemptRecord] = []
        self.streamed = Streams()
        self.earlier_seams: tuple[SeamRecord, ...] = ()
        self._earlier_restarts = 0
        self.causes: list[str] = []
        self.hints: tuple[str, ...] = ()
        self.model = ""
        self.target = spec.target
        self.gap_s = 0.0
        self.outcome: Outcome | None = None
        self._teller = Teller(spec, services)

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
        self._teller.discard()

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
        self.streamed = Streams([Streamed(checkpoint.attempt, self.causes[-1] if self.causes else "")])
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
        spans = provenance(len(turn.text), turn.seams, first_attempt=self.streamed.first_text_attempt())
        cut = {} if cause is None else {"cause": cause, "plan": salvaged}
        self._go(
            RunInput.SUCCEED, salvaged=salvaged, outcome=turn.outcome, turn=turn, provenance=spans, **cut
        )
        self._end(turn.outcome)
        return turn

    def gave_up(
        self, snapshot: Snapshot | None, core: CoreFacts, *, degraded: str | None, code: str, why: str
    ) -> Turn:
        begun = snapshot is not None and snapshot.shown.anything
        turn = self._turn("truncated" if begun else "failed", snapshot, core, degraded, None)
        self._go(RunInput.GIVE_UP, error_code=code, why=why, outcome=turn.outcome)
        self._end(turn.outcome)
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
        self._end(turn.outcome)
        return turn

    def notice(self, kind: str, detail: str) -> None:
        self._sinks.record(Notice(kind, self._clock.wall(), self.target, self._spec.run_id, detail))

    # ------------------------------------------------------------ the turn

    def turn_so_far(self, snapshot: Snapshot | None, core: CoreFacts, degraded: str | None) -> Turn:
        """The turn as it stands, for an error that carries it."""
        return self._turn("truncated", snapshot, core, degraded, None)

    def _turn(
        self,
        kind: OutcomeKind,
        snapshot: Snapshot | None,
        core: CoreFacts,
        degraded: str | None,
        plan: str | None,
    ) -> Turn:
        bills = self.streamed.bills(core.usages)
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

    def count_deltas(self, content_deltas: int) -> None:
        """Note how many deltas the current attempt brought, for when it never reports its usage."""
        if self.streamed:
            self.streamed[-1].content_deltas = content_deltas

    def seams(self, core: CoreFacts) -> tuple[SeamRecord, ...]:
        """The seams of the turn, those before a takeover first."""
        return (*self.earlier_seams, *self.streamed.seams(core))

    def _file_bills(self, bills: list[Bill]) -> None:
        """Each attempt's own usage into its record."""
        known = {part.number: bill.usage for part, bill in zip(self.streamed, bills, strict=True)}
        self.attempts = [
            dataclasses.replace(record, usage=known.get(record.number, record.usage))
            for record in self.attempts
        ]

    def _end(self, outcome: Outcome) -> None:
        self.outcome = outcome
        self._teller.end(outcome)

    # ------------------------------------------------------------ telling

    def note_text(self, text_chars: int) -> None:
        """How many characters of the answer the current attempt has brought."""
        if (stream := self.streamed.of(self.attempt)) is not None:
            self._amend(emitted_chars=max(0, text_chars - stream.text_before))

    def _mark_cut(self) -> None:
        """The current attempt never came to its own end, so its bill did not come either."""
        if (stream := self.streamed.of(self.attempt)) is not None:
            stream.cut = True

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
        self._teller.tell(told)
