"""What all runs of a process may do to one target."""

from __future__ import annotations

from seamstream.recovery import retry_budget
from seamstream.recovery.retry_budget import RetryBudget, TargetBudget


def target(open_streams: int = 0, now: float = 0.0) -> TargetBudget:
    budget = RetryBudget().target("https://a:443")
    for _ in range(open_streams):
        budget.opened(now)
    return budget


def acquired(budget: TargetBudget, tries: int) -> int:
    return sum(budget.try_acquire() for _ in range(tries))


class TestRecoveriesInFlight:
    def test_three_are_always_allowed(self) -> None:
        assert acquired(target(0), 10) == 3
        assert acquired(target(39), 10) == 3

    def test_then_a_tenth_of_the_open_streams(self) -> None:
        assert acquired(target(40), 10) == 4
        assert acquired(target(1000), 500) == 100

    def test_a_slot_given_back_is_free(self) -> None:
        budget = target(10)
        assert acquired(budget, 5) == 3
        budget.release()
        assert acquired(budget, 5) == 1

    def test_closed_streams_count_no_more(self) -> None:
        budget = target(100)
        for _ in range(70):
            budget.closed()
        assert acquired(budget, 50) == 3

    def test_ratio_and_floor_can_be_set(self) -> None:
        budget = RetryBudget(ratio=0.5, min_concurrency=1).target("t")
        assert acquired(budget, 5) == 1
        for _ in range(8):
            budget.opened(0.0)
        assert acquired(budget, 5) == 3


class TestSpread:
    def cuts(self, budget: TargetBudget, number: int, now: float) -> None:
        for _ in range(number):
            budget.cut(now, inferred=False)

    def test_a_lone_cut_reconnects_at_once(self) -> None:
        budget = target(10)
        self.cuts(budget, 1, 50.0)
        assert budget.spread_s(50.0, 0.9) == 0.0

    def test_many_at_once_are_spread_over_five_seconds(self) -> None:
        budget = target(400)
        self.cuts(budget, 19, 50.0)
        assert budget.spread_s(50.0, 0.5) == 0.0
        self.cuts(budget, 1, 50.5)
        assert budget.spread_s(50.5, 0.5) == 2.5
        assert budget.spread_s(50.5, 0.0) == 0.0
        assert budget.spread_s(51.5, 0.5) == 0.0

    def test_twenty_of_very_many_are_no_outage(self) -> None:
        budget = target(401)
        self.cuts(budget, 20, 50.0)
        assert budget.spread_s(50.0, 0.5) == 0.0
        self.cuts(budget, 1, 50.0)
        assert budget.spread_s(50.0, 0.5) == 2.5


class TestDistrust:
    def inferred(self, budget: TargetBudget, number: int, now: float) -> None:
        for _ in range(number):
            budget.cut(now, inferred=True)

    def test_more_than_two_percent_of_two_hundred_streams(self) -> None:
        budget = target(200, now=10.0)
        self.inferred(budget, 4, 20.0)
        assert budget.distrust(20.0) is None
        self.inferred(budget, 1, 20.0)
        why = budget.distrust(20.0)
        assert why is not None
        assert "5 of 200" in why

    def test_fewer_streams_prove_nothing(self) -> None:
        budget = target(199, now=10.0)
        self.inferred(budget, 199, 20.0)
        assert budget.distrust(20.0) is None

    def test_visible_breaks_are_the_targets_own_fault(self) -> None:
        budget = target(200, now=10.0)
        for _ in range(200):
            budget.cut(20.0, inferred=False)
        assert budget.distrust(20.0) is None

    def test_trust_comes_back_after_five_minutes(self) -> None:
        budget = target(200, now=10.0)
        self.inferred(budget, 5, 20.0)
        assert budget.distrust(309.0) is not None
        assert budget.distrust(321.0) is None


class TestTargets:
    def test_each_target_has_one_account(self) -> None:
        budgets = RetryBudget()
        assert budgets.target("a") is budgets.target("a")
        assert budgets.target("a") is not budgets.target("b")

    def test_the_table_is_bounded_but_keeps_busy_targets(self) -> None:
        budgets = RetryBudget()
        busy = budgets.target("busy")
        busy.opened(0.0)
        recovering = budgets.target("recovering")
        assert recovering.try_acquire()
        idle = budgets.target("idle")
        for number in range(2 * retry_budget.MAX_IDLE_TARGETS):
            budgets.target(f"t{number}")
        assert budgets.target("busy") is busy
        assert budgets.target("recovering") is recovering
        assert budgets.target("idle") is not idle
        assert len(budgets) <= retry_budget.MAX_IDLE_TARGETS + 1

    def test_when_all_are_busy_none_is_forgotten(self) -> None:
        budgets = RetryBudget()
        for number in range(retry_budget.MAX_IDLE_TARGETS + 5):
            budgets.target(f"t{number}").opened(0.0)
        assert len(budgets) == retry_budget.MAX_IDLE_TARGETS + 5
