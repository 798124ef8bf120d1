"""From a setback to the next step of a run: whole, another request, or the end. Nothing is done here."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from ..effects import Opened
from ..errors import NOT_CONTINUABLE, PERMANENT_ERROR, RECOVERY_OFF, SEAM_REFUSED
from ..recovery.backoff import decide_wait
from ..recovery.budget import RunBudget
from ..recovery.classify import FailureClass
from ..recovery.continuation.build import Continuation, build_continuation, fitting_strategies
from ..recovery.continuation.facts import RequestFacts, Strategy
from ..recovery.continuation.profile import Profile
from ..recovery.continuation.request import read_request
from ..recovery.continuation.resume import RESUME, Resumption
from ..recovery.continuation.route import Route
from ..recovery.digests import content_digest, digest
from ..recovery.error_codes import FailureKind
from ..recovery.planner import Decision, is_complete, make_plan, plan_restart
from ..recovery.retry_budget import TargetBudget
from ..recovery.states import closed_gate
from ..types import InterruptCause, Plan, Snapshot
from .spec import RunSpec, Services


@dataclass(frozen=True, slots=True)
class Request:
    """One attempt's request. Without a continuation it is the request as it was first sent."""

    number: int
    plan: Plan | None = None
    continuation: Continuation | None = None

    @property
    def body(self) -> bytes | None:
        return self.continuation.body if self.continuation is not None else None

    @property
    def route(self) -> Route | None:
        return self.continuation.route if self.continuation is not None else None

    @property
    def strategy(self) -> Strategy | None:
        return self.continuation.strategy if self.continuation is not None else None


@dataclass(frozen=True, slots=True)
class Setback:
    """Why an attempt brought no whole answer. `cause` is None when it failed before its stream began."""

    cause: InterruptCause | None
    failure: FailureClass | None = None
    error: BaseException | None = None
    opened: Opened | None = None
    seam_refusal: str | None = None
    disconnected: bool = False
    """A connection that was there went before the response began."""
    refusal: str | None = None
    """Why nothing but a turn that is whole already can come of this."""
    too_large: bool = False
    """One event was larger than allowed: an error of its own."""


@dataclass(frozen=True, slots=True)
class Whole:
    """The turn can be closed as it is: R0, R2, or at the length limit (`plan` is None)."""

    plan: Plan | None
    hints: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ask:
    """Send `request` after `wait_s`. A free one is not paid for."""

    request: Request
    wait_s: float
    free: bool = False


@dataclass(frozen=True, slots=True)
class GiveUp:
    """No further request. `code` is an error code of `seamstream.errors`."""

    code: str
    why: str


Step = Whole | Ask | GiveUp

_NOT_STREAMED: Final = Decision(Plan.WHOLE_RESTART)


class Decider:
    """Decides for one run; knows its request, its budget and what providers have refused."""

    def __init__(self, spec: RunSpec, services: Services, target: TargetBudget, budget: RunBudget) -> None:
        self._spec = spec
        self._services = services
        self._target = target
        self._facts: RequestFacts | None = None
        self._forgave = False
        self._resume = Resumption(spec.path, spec.conversation)
        self.budget = budget

    @property
    def facts(self) -> RequestFacts:
        """The base request, read when first asked for."""
        if self._facts is None:
            self._facts = read_request(self._spec.dialect, self._spec.body, self._spec.path)
        return self._facts

    def plan(self, setback: Setback, snapshot: Snapshot | None) -> Decision:
        """What could be done, budgets apart. `snapshot` is None while no stream has begun."""
        if snapshot is None:
            return self._before_stream(setback)
        if setback.refusal is not None and not is_complete(snapshot, self.facts):
            return Decision(None, refusal=f"{NOT_CONTINUABLE}: {setback.refusal}")
        if setback.seam_refusal is not None:
            return plan_restart(snapshot, self.facts, self._spec.reader, setback.seam_refusal)
        return make_plan(
            snapshot,
            self.facts,
            reader=self._spec.reader,
            policy=self._spec.policy,
            error=setback.failure,
            resumable=self._resume.way(self.facts, snapshot) is not None,
        )

    def next_step(
        self, setback: Setback, snapshot: Snapshot | None, last: Request, *, produced_tokens: int, now: float
    ) -> Step:
        """The next step after `last` met `setback`."""
        refused = self._resume.refused(last.continuation, setback.failure, setback.seam_refusal)
        if refused:
            setback = replace(setback, failure=None, seam_refusal=None)
        decision = self.plan(setback, snapshot)
        if decision.plan is None:
            return self._refused(setback, decision)
        if decision.plan is Plan.COMPLETE:
            return Whole(decision.plan)
        if self._spec.mode != "recover":
            return GiveUp(RECOVERY_OFF, f"recovery is off; the plan would have been {decision.plan.value}")
        if not decision.plan.needs_request:
            return Whole(decision.plan, decision.hints)
        free = refused or self._learn_refusal(setback, last) or self._forgives(setback)
        if (refusal := None if free else self._charge(setback, snapshot, last, now)) is not None:
            return self._without_request(setback, snapshot) or refusal
        request = self._request(decision, snapshot, last.number + 1, produced_tokens)
        if not isinstance(request, Request):
            return request
        return self._timed(setback, request, free=free, now=now)

    def _without_request(self, setback: Setback, snapshot: Snapshot | None) -> Whole | None:
        """Complete calls of a turn that may not be resumed are still whole."""
        if snapshot is None or setback.seam_refusal is not None:
            return None
        spec = self._spec
        decision = make_plan(snapshot, self.facts, reader=spec.reader, policy=spec.policy)
        needs_none = decision.plan is not None and not decision.plan.needs_request
        return Whole(decision.plan, decision.hints) if needs_none else None

    def _before_stream(self, setback: Setback) -> Decision:
        failure = setback.failure
        if failure is not None and (failure.forbids_requests or failure.kind is FailureKind.PREFILL_REFUSED):
            return Decision(None, refusal=f"the provider's error is permanent ({failure.kind.value})")
        if self._spec.body is None:
            return Decision(None, refusal="the request was too large to be kept")
        if not self._spec.wants_stream:
            return Decision(None, refusal="no stream was asked for")
        return _NOT_STREAMED

    def _refused(self, setback: Setback, decision: Decision) -> GiveUp:
        why = decision.refusal or ""
        if setback.failure is not None and setback.failure.forbids_requests:
            return GiveUp(PERMANENT_ERROR, why)
        return GiveUp(SEAM_REFUSED if setback.seam_refusal is not None else NOT_CONTINUABLE, why)

    def _learn_refusal(self, setback: Setback, last: Request) -> bool:
        """A refused prefill of ours costs nothing: the next way of asking is tried at once."""
        failure = setback.failure
        if failure is None or failure.kind is not FailureKind.PREFILL_REFUSED or last.strategy is None:
            return False
        self._services.profiles.remember_refusal(
            host=self._spec.host,
            model=self.facts.model,
            strategy=last.strategy,
            now=self._services.clock.wall(),
        )
        return True

    def _forgives(self, setback: Setback) -> bool:
        """A connection kept too long is no failure of the provider: once in a run its loss costs nothing."""
        if not setback.disconnected or self._forgave:
            return False
        self._forgave = True
        return True

    def _charge(
        self, setback: Setback, snapshot: Snapshot | None, last: Request, now: float
    ) -> GiveUp | None:
        sent = last.body if last.body is not None else self._spec.body
        self.budget.cut(
            now,
            request_digest=digest(sent or b""),
            content_digest=content_digest(snapshot) if snapshot is not None else "",
            cause=str(setback.cause),
        )
        refusal = self.budget.refusal(now)
        recoverable = setback.failure is None or not setback.failure.forbids_requests
        gate = closed_gate(budget_left=refusal is None, recoverable=recoverable, side_effect_committed=False)
        if refusal is not None:
            return GiveUp(refusal.code, refusal.why)
        return GiveUp(PERMANENT_ERROR, gate) if gate is not None else None

    def _request(
        self, decision: Decision, snapshot: Snapshot | None, number: int, produced_tokens: int
    ) -> Request | Whole | GiveUp:
        if snapshot is None:
            return Request(number)
        if decision.plan is Plan.WHOLE_RESTART:
            return Request(number, decision.plan)
        if decision.strategies == (RESUME,) and (way := self._resume.way(self.facts, snapshot)) is not None:
            return Request(number, decision.plan, way)
        strategies = self._strategies(decision)
        if not strategies:
            fallback = plan_restart(
                snapshot, self.facts, self._spec.reader, "no way of asking for the rest is left"
            )
            if fallback.plan is None:
                return GiveUp(NOT_CONTINUABLE, fallback.refusal or "")
            return Request(number, fallback.plan)
        base = self._spec.body or b""
        continuation = build_continuation(
            *(strategies[0], base, self.facts, snapshot, self._spec.policy),
            profile=self._profile(),
            produced_tokens=produced_tokens,
        )
        if continuation.length_exhausted:
            return Whole(None)
        return Request(number, decision.plan, continuation)

    def _profile(self) -> Profile:
        return self._services.profiles.profile(
            host=self._spec.host, dialect=self._spec.dialect, model=self.facts.model
        )

    def _strategies(self, decision: Decision) -> tuple[Strategy, ...]:
        accepted = self._services.profiles.strategies(
            host=self._spec.host,
            dialect=self._spec.dialect,
            model=self.facts.model,
            now=self._services.clock.wall(),
        )
        return fitting_strategies(accepted, self.facts, decision.strategies)

    def _timed(self, setback: Setback, request: Request, *, free: bool, now: float) -> Ask | GiveUp:
        if free:
            return Ask(request, 0.0, free=True)
        clock, policy = self._services.clock, self._spec.policy
        wait = decide_wait(
            policy,
            reconnect=self.budget.without_progress + 1,
            cause=setback.cause,
            server_wait_s=setback.failure.retry_after_s if setback.failure is not None else None,
            random=clock.random(),
            spread_s=self._target.spread_s(now, clock.random()),
        )
        if wait.refusal is not None:
            why = f"the provider asks to wait {wait.seconds:g} s, {policy.max_retry_after_s:g} s are allowed"
            return GiveUp(wait.refusal, why)
        return Ask(request, wait.seconds, free=False)
