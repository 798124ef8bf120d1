"""From a setback to the next step of a run: whole, another request, or the end. Nothing is done here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from ..effects import Opened
from ..errors import ATTEMPT_REFUSED, NOT_CONTINUABLE, PERMANENT_ERROR, RECOVERY_OFF, SEAM_REFUSED
from ..recovery.backoff import decide_wait
from ..recovery.budget import RunBudget
from ..recovery.classify import FailureClass
from ..recovery.continuation.build import Continuation, build_continuation, fitting_strategies
from ..recovery.continuation.facts import RequestFacts, Strategy
from ..recovery.continuation.profile import Profile
from ..recovery.continuation.request import read_request, with_model
from ..recovery.continuation.resume import RESUME, Resumption
from ..recovery.continuation.route import Route, public_headers
from ..recovery.digests import content_digest, digest
from ..recovery.error_codes import FailureKind
from ..recovery.planner import Decision, is_complete, make_plan, plan_restart
from ..recovery.prepare import Attempt
from ..recovery.states import closed_gate
from ..recovery.targets import Place, model_at
from ..types import IdleStall, InterruptCause, Plan, Snapshot
from .spec import RunSpec, Services
from .targets import Targets, is_spent


@dataclass(frozen=True, slots=True)
class Request:
    """One attempt's request. Without a continuation it is the request as it was first sent."""

    number: int
    plan: Plan | None = None
    continuation: Continuation | None = None
    place: Place | None = None
    """Where it goes; None stands for where the run is."""
    base: bytes | None = None
    """The base request, if it is not the caller's because another model is asked."""

    @property
    def body(self) -> bytes | None:
        return self.continuation.body if self.continuation is not None else self.base

    @property
    def route(self) -> Route | None:
        own = self.continuation.route if self.continuation is not None else None
        fallback = self.place.fallback if self.place is not None else None
        if fallback is None:
            return own
        own = own or Route()
        return replace(own, url=fallback.url, headers=(*fallback.headers.items(), *own.headers))

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
    refused: str | None = None
    """Why the user's hook would not have it sent."""
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
    """Send `request` after `wait_s`. A free one is not paid for. `places` are where it may go, best first:
    `request` is for the first of them, `at` makes it for another.
    """

    request: Request
    wait_s: float
    places: tuple[Place, ...]
    at: Callable[[Place], Request | Whole | GiveUp]
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

    def __init__(self, spec: RunSpec, services: Services, targets: Targets, budget: RunBudget) -> None:
        self._spec = spec
        self._services = services
        self._targets = targets
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

    def first_request(self, now: float) -> Request:
        """The request of attempt 1."""
        targets = self._targets
        if not targets.several or self._spec.mode != "recover":
            return Request(1)
        targets.begin(self.facts.model, now)
        return Request(1, place=targets.place, base=self._base_for(targets.place))

    def describe(self, request: Request, headers: Mapping[str, str], produced_tokens: int) -> Attempt:
        """What the user's hook is shown of an attempt."""
        route, place = request.route or Route(), self._targets.place
        body = request.body if request.body is not None else self._spec.body or b""
        path = route.path or place.path
        facts = read_request(self._spec.dialect, body, path)
        return Attempt(
            *(self._spec.run_id, request.number, self._spec.dialect, place.name, path),
            model=facts.model or self._facts_at(place).model,
            body=body,
            headers={**self._spec.headers, **public_headers(dict(route.headers)), **headers},
            plan=request.plan.value if request.plan is not None else None,
            strategy=request.strategy,
            produced_tokens=produced_tokens,
            max_tokens=facts.max_tokens,
        )

    def _facts_at(self, place: Place) -> RequestFacts:
        """The base request as it is asked there."""
        return self.facts if place.model is None else replace(self.facts, model=place.model)

    def model_here(self) -> str:
        """The model that is asked where the run is; empty where that cannot change within a run."""
        return model_at(self._targets.place, self.facts.model) if self._targets.several else ""

    def _base_for(self, place: Place) -> bytes | None:
        """The base request with the model that is asked there; None when it is the caller's."""
        body = self._spec.body
        if body is None or place.model is None or place.model == self.facts.model:
            return None
        return with_model(body, place.model)

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
        if setback.refused is not None:
            return GiveUp(ATTEMPT_REFUSED, f"the attempt was refused: {setback.refused}")
        silent = isinstance(setback.cause, IdleStall)
        refused = self._resume.refused(
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
        make = partial(self._request, decision, snapshot, last.number + 1, produced_tokens)
        request = make(places[0])
        if not isinstance(request, Request):
            return request
        if free:
            return Ask(request, 0.0, places, make, free=True)
        return self._timed(setback, Ask(request, 0.0, places, make), now=now)

    def _next_places(self, setback: Setback, snapshot: Snapshot | None, now: float) -> tuple[Place, ...]:
        model = self.facts.model if self._targets.several else ""
        free_choice = snapshot is None or not (snapshot.shown.text_chars or snapshot.shown.refusal)
        may_change = self._spec.policy.allow_model_change or free_choice
        return self._targets.next(setback.failure, model, may_change_model=may_change, now=now)

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
            host=self._targets.place.host,
            model=self._facts_at(self._targets.place).model,
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
        self,
        decision: Decision,
        snapshot: Snapshot | None,
        number: int,
        produced_tokens: int,
        place: Place,
    ) -> Request | Whole | GiveUp:
        own_base = self._base_for(place)
        if snapshot is None:
            return Request(number, place=place, base=own_base)
        if decision.plan is Plan.WHOLE_RESTART:
            return Request(number, decision.plan, place=place, base=own_base)
        if (way := self._resumed(decision, snapshot, place)) is not None:
            return Request(number, decision.plan, way, place)
        strategies = self._strategies(decision, place)
        if not strategies:
            fallback = plan_restart(
                snapshot, self.facts, self._spec.reader, "no way of asking for the rest is left"
            )
            if fallback.plan is None:
                return GiveUp(NOT_CONTINUABLE, fallback.refusal or "")
            return Request(number, fallback.plan, place=place, base=own_base)
        continuation = build_continuation(
            *(strategies[0], own_base or self._spec.body or b"", self._facts_at(place)),
            *(snapshot, self._spec.policy),
            profile=self._profile(place),
            produced_tokens=produced_tokens,
        )
        if continuation.length_exhausted:
            return Whole(None)
        return Request(number, decision.plan, continuation, place)

    def _resumed(self, decision: Decision, snapshot: Snapshot, place: Place) -> Continuation | None:
        """The server's own stream, where it is the server that the path was made for."""
        if decision.strategies != (RESUME,) or place.path != self._spec.path:
            return None
        return self._resume.way(self.facts, snapshot)

    def _profile(self, place: Place) -> Profile:
        model = self._facts_at(place).model
        return self._services.profiles.profile(host=place.host, dialect=self._spec.dialect, model=model)

    def _strategies(self, decision: Decision, place: Place) -> tuple[Strategy, ...]:
        facts = self._facts_at(place)
        accepted = self._services.profiles.strategies(
            host=place.host,
            dialect=self._spec.dialect,
            model=facts.model,
            now=self._services.clock.wall(),
        )
        if place != self._targets.place:  # only the server that sent the stream can still have it
            accepted = tuple(name for name in accepted if name != "resume")
        return fitting_strategies(accepted, facts, decision.strategies)

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
