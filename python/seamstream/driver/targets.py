"""Which of its targets a run uses: the one it was sent to while that serves, a fallback when it does not.

Accounts (open streams, slots, breaker) belong to targets and are shared by all runs of the process.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Final

from ..recovery.breaker import Breaker, BreakerState
from ..recovery.classify import FailureClass
from ..recovery.error_codes import FailureKind
from ..recovery.retry_budget import RetryBudget, TargetBudget
from ..recovery.targets import Place, in_order, model_at
from .spec import RunSpec

LONG_WAIT_S: Final = 10.0
"""A target that asks to be left alone for longer is left for a fallback, if there is one."""

_CANNOT_SERVE: Final = frozenset({FailureKind.NETWORK, FailureKind.OVERLOADED, FailureKind.SERVER_ERROR})


def cannot_serve(failure: FailureClass | None) -> bool:
    """Does the failure say that this target is of no use now?"""
    return failure is not None and failure.kind in _CANNOT_SERVE


def is_spent(failure: FailureClass | None) -> bool:
    """The account that the caller has there is used up; one elsewhere may not be."""
    return failure is not None and failure.kind is FailureKind.QUOTA


def asks_to_leave(failure: FailureClass | None) -> bool:
    """Should the next attempt go elsewhere, if there is an elsewhere?"""
    long = failure is not None and (failure.retry_after_s or 0.0) > LONG_WAIT_S
    return cannot_serve(failure) or long or is_spent(failure)


class Targets:
    """The places of one run. `place` is where its current attempt is."""

    def __init__(self, spec: RunSpec, budget: RetryBudget) -> None:
        self._budget = budget
        primary = Place(spec.target, spec.host, spec.path)
        self._places = (primary, *(fallback.place for fallback in spec.policy.fallbacks))
        self._failures: Counter[Place] = Counter()
        self._counted = False
        self._slot: Callable[[], None] | None = None
        self._probe: Breaker | None = None
        self.place = primary

    @property
    def several(self) -> bool:
        return len(self._places) > 1

    @property
    def account(self) -> TargetBudget:
        """That of the current place."""
        return self._budget.target(self.place.name)

    # ------------------------------------------------------------ where to go

    def begin(self, asked: str, now: float) -> None:
        """Where a run begins: where its caller sent it, unless that target's breaker is open and another one
        has room. `asked` is the model that the caller's request names.
        """
        for place in in_order(self._places, asked, speaking=asked, may_change_model=True):
            if self.passes(place, now) and (not place.keeps_slot or self.enter(place, now)):
                self.place = place
                return

    def next(
        self, failure: FailureClass | None, asked: str, *, may_change_model: bool, now: float
    ) -> tuple[Place, ...]:
        """Where the next attempt may go, best first: back to the same place, unless that does not serve; then
        where this run has failed least. Places that can be used at once come before those that cannot.
        """
        leaves = asks_to_leave(failure)
        if leaves:
            self._failures[self.place] += 1
        if not self.several:
            return (self.place,)
        speaking = asked if may_change_model else model_at(self.place, asked)
        places = in_order(self._places, asked, speaking=speaking, may_change_model=may_change_model)
        stays = self.place if not leaves else None

        def rank(place: Place) -> tuple[bool, bool, bool, int]:
            guest = stays is not None and place.keeps_slot and place != stays
            return guest, not self._is_free(place, now), place != stays, self._failures[place]

        return tuple(sorted(places, key=rank))

    def returns_to(self, place: Place) -> bool:
        """Has this run met a failure there before?"""
        return self._failures[place] > 0

    def _is_free(self, place: Place, now: float) -> bool:
        account = self._budget.target(place.name)
        return account.breaker.allows(now) and account.has_room(guest=place.keeps_slot)

    # ------------------------------------------------------------ accounts

    def open(self, now: float) -> None:
        """The run is at its place from now on. One that keeps its slot is not counted among the open streams
        by which slots are measured.
        """
        if not self.place.keeps_slot or self._slot is None:
            self._counted = True
            self.account.opened(now)

    def close(self) -> None:
        """The run has left its place."""
        if self._counted:
            self._counted = False
            self.account.closed()

    def move_to(self, place: Place, now: float) -> None:
        """The next attempt is sent there."""
        if place != self.place:
            self.close()
            self.place = place
            self.open(now)

    def enter(self, place: Place, now: float, *, waits_for: Place | None = None) -> bool:
        """Take a slot there, if its breaker lets an attempt through. A run that can wait for a slot where it
        was does not become the guest of a target that has none to spare.
        """
        if waits_for is not None and place != waits_for and place.keeps_slot and self.passes(waits_for, now):
            return False
        account = self._budget.target(place.name)
        if account.breaker.allows(now) and account.try_acquire(guest=place.keeps_slot):
            self._slot = partial(account.release, guest=place.keeps_slot)
            return True
        return False

    def content_came(self, now: float) -> None:
        """The current attempt's stream flows."""
        self.account.breaker.succeeded(now)
        self._probe = None
        if not self.place.keeps_slot:
            self._release_slot()

    def attempt_over(self) -> None:
        """Give back what was taken for an attempt."""
        self._release_slot()
        if self._probe is not None:
            self._probe.abandoned()
            self._probe = None

    def admit(self, now: float) -> None:
        """An attempt is about to be sent. If the breaker waits for a probe, this is it."""
        breaker = self.account.breaker
        if breaker.state(now) is BreakerState.HALF_OPEN and breaker.admit(now):
            self._probe = breaker

    def failed(self, now: float) -> None:
        """The current attempt brought nothing, because its target cannot serve."""
        self.account.breaker.failed(now)
        self._probe = None

    def answered(self, now: float) -> None:
        """The target serves, though not this request."""
        self.account.breaker.succeeded(now)
        self._probe = None

    def passes(self, place: Place, now: float) -> bool:
        """Does the breaker let an attempt through?"""
        return self._budget.target(place.name).breaker.allows(now)

    def _release_slot(self) -> None:
        slot, self._slot = self._slot, None
        if slot is not None:
            slot()
