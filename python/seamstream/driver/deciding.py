"""From a setback to the next step of a run: whole, another request, or the end. Nothing is done here."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Final

from ..errors import ATTEMPT_REFUSED, NOT_CONTINUABLE, PERMANENT_ERROR, RECOVERY_OFF, SEAM_REFUSED
from ..recovery.backoff import decide_wait
from ..recovery.budget import RunBudget
from ..recovery.continuation.resume import RESUME
from ..recovery.digests import content_digest, digest
from ..recovery.error_codes import FailureKind
from ..recovery.planner import Decision, is_complete, make_plan, plan_restart
from ..recovery.states import closed_gate
from ..recovery.targets import Place
from ..types import IdleStall, Plan, Snapshot
from .asking import Asking
from .requests import Ask, GiveUp, Request, Setback, Step, Whole
from .spec import RunSpec, Services
from .targets import Targets, is_spent

_NOT_STREAMED: Final = Decision(Plan.WHOLE_RESTART)


class Decider:
    """Decides for one run; knows its request, its budget and what providers have refused."""

    def __init__(self, spec: RunSpec, services: Services, targets: Targets, budget: RunBudget) -> None:
        self._spec = spec
        self._services = services
        self._targets = targets
        self._forgave = False
        self.asking = Asking(spec, services, targets)
        self.budget = budget

    def plan(self, setback: Setback, snapshot: Snapshot | None) -> Decision:
        """What could be done, budgets apart. `snapshot` is None while no stream has begun."""
        if snapshot is None:
            return self._before_stream(setback)
        if setback.refusal is not None and not is_complete(snapshot, self.asking.facts):
            return Decision(None, refusal=f"{NOT_CONTINUABLE}: {setback.refusal}")
        if setback.seam_refusal is not None:
            return plan_restart(snapshot, self.asking.facts, self._spec.reader, setback.seam_refusal)
        return make_plan(
            snapshot,
            self.asking.facts,
            reader=self._spec.reader,
            policy=self._spec.policy,
            error=setback.failure,
            resumable=self.asking.resume.way(self.asking.facts, snapshot) is not None,
        )

    def next_step(
        self, setback: Setback, snapshot: Snapshot | None, last: Request, *, produced_tokens: int, now: float
    ) -> Step:
        """The next step after `last` met `setback`."""
        if setback.refused is not None:
            return GiveUp(ATTEMPT_REFUSED, f"the attempt was refused: {setback.refused}")
        silent = isinstance(setback.cause, IdleStall)
        refused = self.asking.resume.refused(
            last.continuation, setback.failure, setback.seam_refusal, silent=silent
        )
        if refused:
            setback = replace(setback, failure=None, seam_refusal=None)
        failure = setback.failure
        if failure is not None and is_spent(failure) and self._targets.several:
            setback = replace(setback, failure=replace(failure, retryable=True))
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
        stays = free or decision.strategies == (RESUME,)
        places = (self._targets.place,) if stays else self._next_places(setback, snapshot, now)
        make = partial(self.asking.request, decision, snapshot, last.number + 1, produced_tokens)
        request = make(places[0])
        if not isinstance(request, Request):
            return request
        if free:
            return Ask(request, 0.0, places, make, free=True)
        return self._timed(setback, Ask(request, 0.0, places, make), now=now)

    def _next_places(self, setback: Setback, snapshot: Snapshot | None, now: float) -> tuple[Place, ...]:
        model = self.asking.facts.model if self._targets.several else ""
        free_choice = snapshot is None or not (snapshot.shown.text_chars or snapshot.shown.refusal)
        may_change = self._spec.policy.allow_model_change or free_choice
        return self._targets.next(setback.failure, model, may_change_model=may_change, now=now)

    def _without_request(self, setback: Setback, snapshot: Snapshot | None) -> Whole | None:
        """Complete calls of a turn that may not be resumed are still whole."""
        if snapshot is None or setback.seam_refusal is not None:
            return None
        spec = self._spec
        decision = make_plan(snapshot, self.asking.facts, reader=spec.reader, policy=spec.policy)
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
            host=self._targets.place.host,
            model=self.asking.facts_at(self._targets.place).model,
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

    def _timed(self, setback: Setback, ask: Ask, *, now: float) -> Ask | GiveUp:
        clock, policy = self._services.clock, self._spec.policy
        moved = ask.places[0] != self._targets.place
        asked_s = setback.failure.retry_after_s if setback.failure is not None else None
        wait = decide_wait(
            policy,
            reconnect=self.budget.without_progress + 1,
            cause=setback.cause,
            server_wait_s=None if moved else asked_s,
            random=clock.random(),
            spread_s=self._targets.account.spread_s(now, clock.random()),
            elsewhere=moved and not self._targets.returns_to(ask.places[0]),
        )
        if wait.refusal is not None:
            why = f"the provider asks to wait {wait.seconds:g} s, {policy.max_retry_after_s:g} s are allowed"
            return GiveUp(wait.refusal, why)
        return replace(ask, wait_s=wait.seconds)
