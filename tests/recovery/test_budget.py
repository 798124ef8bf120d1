"""The run budget, told the story of a run."""

from __future__ import annotations

import json

import pytest

from seamstream.errors import BUDGET_EXHAUSTED, IDENTICAL_PARTIALS, StoreError
from seamstream.recovery.budget import RunBudget
from seamstream.recovery.policy import RecoveryPolicy


def budget(**fields: float) -> RunBudget:
    return RunBudget.from_policy(RecoveryPolicy().replace(**fields))


def cut(
    account: RunBudget, now: float, content: str = "abc", *, request: str = "r", cause: str = "reset"
) -> None:
    account.cut(now, request_digest=request, content_digest=content, cause=cause)


def code(account: RunBudget, now: float) -> str | None:
    refusal = account.refusal(now)
    return None if refusal is None else refusal.code


def test_so_many_recoveries_and_no_more() -> None:
    account = budget(max_recoveries=2, max_recoveries_without_progress=9)
    for content in ("a", "ab"):
        account.content(0.0)
        cut(account, 0.0, content)
        assert account.refusal(0.0) is None
        account.spend()
    cut(account, 0.0, "abc")
    assert code(account, 0.0) == BUDGET_EXHAUSTED


def test_no_recovery_at_all() -> None:
    account = budget(max_recoveries=0)
    cut(account, 0.0)
    assert code(account, 0.0) == BUDGET_EXHAUSTED


def test_recoveries_in_vain_are_counted_since_the_last_content() -> None:
    account = budget(max_recoveries=9, max_recoveries_without_progress=2)
    cut(account, 0.0)
    account.spend()
    cut(account, 1.0)
    account.spend()
    account.content(2.0)
    cut(account, 3.0)
    account.spend()
    assert account.refusal(3.0) is None
    cut(account, 4.0)
    account.spend()
    cut(account, 5.0)
    refusal = account.refusal(5.0)
    assert refusal is not None
    assert refusal.code == BUDGET_EXHAUSTED
    assert "2 recoveries in a row" in refusal.why


class TestSeconds:
    def test_only_the_time_from_a_cut_to_the_next_content_counts(self) -> None:
        account = budget(max_recovery_s=100.0)
        account.content(1.0)
        assert account.recovery_s(5000.0) == 0.0
        cut(account, 5000.0)
        assert account.recovery_s(5010.0) == 10.0
        account.content(5030.0)
        cut(account, 9000.0, "abcd")
        assert account.recovery_s(9005.0) == 35.0
        assert account.remaining_s(9005.0) == 65.0

    def test_a_second_cut_before_content_does_not_start_anew(self) -> None:
        account = budget(max_recovery_s=100.0)
        cut(account, 10.0)
        cut(account, 40.0)
        assert account.recovery_s(60.0) == 50.0

    def test_the_limit_ends_the_run(self) -> None:
        account = budget(max_recovery_s=20.0)
        cut(account, 0.0)
        assert account.refusal(19.9) is None
        assert code(account, 20.0) == BUDGET_EXHAUSTED
        assert account.remaining_s(25.0) == 0.0


class TestIdenticalPartials:
    def told(self, *attempts: tuple[str, str, str, bool]) -> RunBudget:
        account = budget(max_recoveries=9, max_recoveries_without_progress=9)
        for request, content, cause, came in attempts:
            if came:
                account.content(0.0)
            cut(account, 0.0, content, request=request, cause=cause)
        return account

    def test_the_same_cut_twice_ends_it(self) -> None:
        account = self.told(("r", "abc", "reset", True), ("r", "abc", "reset", True))
        assert code(account, 0.0) == IDENTICAL_PARTIALS

    def test_also_with_others_between(self) -> None:
        account = self.told(
            ("r", "abc", "reset", True), ("r", "abcd", "reset", True), ("r", "abc", "reset", True)
        )
        assert code(account, 0.0) == IDENTICAL_PARTIALS

    @pytest.mark.parametrize(
        "second",
        [
            ("other request", "abc", "reset", True),
            ("r", "other content", "reset", True),
            ("r", "abc", "other cause", True),
            ("r", "abc", "reset", False),
        ],
    )
    def test_any_difference_or_an_empty_attempt_does_not(self, second: tuple[str, str, str, bool]) -> None:
        assert code(self.told(("r", "abc", "reset", True), second), 0.0) is None


class TestStored:
    def test_the_account_goes_on_in_another_process(self) -> None:
        account = budget(max_recoveries=3, max_recovery_s=100.0)
        account.content(0.0)
        cut(account, 7000.0)
        account.spend()
        stored = json.loads(json.dumps(account.to_dict(7010.0)))
        other = RunBudget.from_dict(stored)
        assert other.recoveries == 1
        assert other.recovery_s(3.0) == 10.0
        other.content(3.0)
        cut(other, 4.0)
        assert code(other, 4.0) == IDENTICAL_PARTIALS

    @pytest.mark.parametrize("change", [{"partials": 7}, {"unknown": 1}, {"partials": [["too", "short"]]}])
    def test_what_cannot_be_read_is_a_store_error(self, change: dict[str, object]) -> None:
        with pytest.raises(StoreError):
            RunBudget.from_dict({**budget().to_dict(0.0), **change})
