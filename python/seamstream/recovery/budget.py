"""What one run may spend on recovery: attempts, attempts in vain, and seconds from a cut to the next content.

The budget belongs to the run, not to the process: it travels in the checkpoint, and a process that takes over
goes on with what is left. Times are the caller's monotonic clock; only sums are stored, because that clock
ends with a process.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..errors import BUDGET_EXHAUSTED, IDENTICAL_PARTIALS, StoreError
from .policy import RecoveryPolicy


@dataclass(frozen=True, slots=True)
class BudgetRefusal:
    """Why no further request may be sent. `code` is an error code of `seamstream.errors`."""

    code: str
    why: str


@dataclass(slots=True)
class RunBudget:
    """A run's account. Tell it of cuts, of requests sent after them, and of each attempt's first content."""

    max_recoveries: int
    max_recoveries_without_progress: int
    max_recovery_s: float
    recoveries: int = 0
    without_progress: int = 0
    spent_s: float = 0.0
    identical: bool = False
    _cut_at: float | None = None
    _progressed: bool = False
    _partials: set[tuple[str, str, str]] = field(default_factory=set)

    @classmethod
    def from_policy(cls, policy: RecoveryPolicy) -> RunBudget:
        return cls(policy.max_recoveries, policy.max_recoveries_without_progress, policy.max_recovery_s)

    def content(self, now: float) -> None:
        """The first content of an attempt came: the waiting for it is over."""
        self.spent_s = self.recovery_s(now)
        self._cut_at = None
        self._progressed = True
        self.without_progress = 0

    def cut(self, now: float, *, request_digest: str, content_digest: str, cause: str) -> None:
        """An attempt ended too early or never began. Digests: of its request, and of the turn so far."""
        if self._cut_at is None:
            self._cut_at = now
        if self._progressed:
            partial = (request_digest, content_digest, cause)
            self.identical = self.identical or partial in self._partials
            self._partials.add(partial)
        self._progressed = False

    def refusal(self, now: float) -> BudgetRefusal | None:
        """None when one more request may be sent now."""
        if self.identical:
            return BudgetRefusal(IDENTICAL_PARTIALS, "the same request was cut twice after the same content")
        if self.recoveries >= self.max_recoveries:
            return BudgetRefusal(BUDGET_EXHAUSTED, f"all {self.max_recoveries} recoveries are used")
        if self.without_progress >= self.max_recoveries_without_progress:
            why = f"{self.without_progress} recoveries in a row brought nothing"
            return BudgetRefusal(BUDGET_EXHAUSTED, why)
        if self.recovery_s(now) >= self.max_recovery_s:
            return BudgetRefusal(BUDGET_EXHAUSTED, f"recovery has taken {self.max_recovery_s:g} s")
        return None

    def spend(self) -> None:
        """A request is sent because of the last cut."""
        self.recoveries += 1
        self.without_progress += 1

    def refund(self) -> None:
        """The request that was paid for last was refused for its credentials: it was no try."""
        self.recoveries = max(0, self.recoveries - 1)
        self.without_progress = max(0, self.without_progress - 1)

    def recovery_s(self, now: float) -> float:
        """Seconds spent without content since cuts, the current wait included."""
        return self.spent_s + (now - self._cut_at if self._cut_at is not None else 0.0)

    def remaining_s(self, now: float) -> float:
        """Seconds that recovery may still take."""
        return max(0.0, self.max_recovery_s - self.recovery_s(now))

    def to_dict(self, now: float) -> dict[str, Any]:
        """The account as plain data, for the checkpoint."""
        return {
            "max_recoveries": self.max_recoveries,
            "max_recoveries_without_progress": self.max_recoveries_without_progress,
            "max_recovery_s": self.max_recovery_s,
            "recoveries": self.recoveries,
            "without_progress": self.without_progress,
            "spent_s": self.recovery_s(now),
            "identical": self.identical,
            "partials": sorted(map(list, self._partials)),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> RunBudget:
        """The account another process kept."""
        fields = dict(data)
        try:
            partials = {(str(a), str(b), str(c)) for a, b, c in fields.pop("partials")}
            return cls(**fields, _partials=partials)
        except (KeyError, TypeError, ValueError) as error:
            raise StoreError(f"a stored run budget cannot be read: {error}") from error
