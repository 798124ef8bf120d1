"""The requests of a run: the first one, and those that ask for the rest of its answer, at each place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..errors import NOT_CONTINUABLE
from ..recovery.continuation.build import Continuation, build_continuation, fitting_strategies
from ..recovery.continuation.facts import RequestFacts, Strategy
from ..recovery.continuation.profile import Profile
from ..recovery.continuation.request import read_request, with_model
from ..recovery.continuation.resume import RESUME, Resumption
from ..recovery.continuation.route import Route, public_headers
from ..recovery.planner import Decision, plan_restart
from ..recovery.prepare import Attempt
from ..recovery.targets import Place, model_at
from ..types import Plan, Snapshot
from .requests import GiveUp, Request, Whole
from .spec import RunSpec, Services
from .targets import Targets


class Asking:
    """Makes the requests of one run; knows its base request, and `resume` what its server has refused."""

    def __init__(self, spec: RunSpec, services: Services, targets: Targets) -> None:
        self._spec = spec
        self._services = services
        self._targets = targets
        self._facts: RequestFacts | None = None
        self.resume = Resumption(spec.path, spec.conversation)

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
            model=facts.model or self.facts_at(place).model,
            body=body,
            headers={**self._spec.headers, **public_headers(dict(route.headers)), **headers},
            plan=request.plan.value if request.plan is not None else None,
            strategy=request.strategy,
            produced_tokens=produced_tokens,
            max_tokens=facts.max_tokens,
        )

    def facts_at(self, place: Place) -> RequestFacts:
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

    def request(
        self,
        decision: Decision,
        snapshot: Snapshot | None,
        number: int,
        produced_tokens: int,
        place: Place,
    ) -> Request | Whole | GiveUp:
        """The request that this decision leads to at that place; or it leaves nothing to ask for."""
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
            *(strategies[0], own_base or self._spec.body or b"", self.facts_at(place)),
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
        return self.resume.way(self.facts, snapshot)

    def _profile(self, place: Place) -> Profile:
        model = self.facts_at(place).model
        return self._services.profiles.profile(host=place.host, dialect=self._spec.dialect, model=model)

    def _strategies(self, decision: Decision, place: Place) -> tuple[Strategy, ...]:
        facts = self.facts_at(place)
        accepted = self._services.profiles.strategies(
            host=place.host,
            dialect=self._spec.dialect,
            model=facts.model,
            now=self._services.clock.wall(),
        )
        if place != self._targets.place:  # only the server that sent the stream can still have it
            accepted = tuple(name for name in accepted if name != "resume")
        return fitting_strategies(accepted, facts, decision.strategies)
