"""What the records add up to: the counters that every metrics sink offers, read off the records in one place.

Label values come from closed sets; ids, hosts and free text are no labels.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from ..errors import BUDGET_EXHAUSTED, IDENTICAL_PARTIALS, TARGET_BUDGET_EMPTY, WAIT_TOO_LONG
from ..recovery.states import RunState
from ..types import Outcome
from .hooks import Record, RunEvent

STREAMS: Final = "streams"
CUTS: Final = "cuts"
JOINS: Final = "joins"
GAP_SECONDS: Final = "gap_seconds"
EXTRA_TOKENS: Final = "extra_tokens"
BUDGET_REFUSALS: Final = "budget_refusals"
DEGRADED: Final = "degraded"

COUNTERS: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    STREAMS: ("Runs that ended", ("outcome", "dialect", "mode")),
    CUTS: ("Attempts cut before their answer was complete", ("cause", "plan", "mode")),
    JOINS: ("Seams between attempts", ("join",)),
    GAP_SECONDS: ("Seconds from cuts to the next content", ("dialect",)),
    EXTRA_TOKENS: ("Tokens of all attempts but the first, as reported", ("kind",)),
    BUDGET_REFUSALS: ("Runs given up because a budget was spent", ("code",)),
    DEGRADED: ("Runs that recovery was switched off for", ("reason",)),
}
_BUDGET_CODES: Final = frozenset({BUDGET_EXHAUSTED, IDENTICAL_PARTIALS, TARGET_BUDGET_EMPTY, WAIT_TOO_LONG})


@dataclass(frozen=True, slots=True)
class Count:
    """Add `amount` to the counter `name`; `labels` stand in the order of `COUNTERS`."""

    name: str
    labels: tuple[str, ...]
    amount: float = 1.0


def counts(record: Record) -> Iterator[Count]:
    """What one record adds to the counters."""
    if not isinstance(record, RunEvent):
        return
    if record.cause is not None and record.state_from is RunState.STREAMING:
        yield Count(CUTS, (record.cause, record.plan or "none", record.mode))
    if record.error_code in _BUDGET_CODES and record.state_to.final:
        yield Count(BUDGET_REFUSALS, (record.error_code,))
    if record.outcome is not None:
        yield Count(STREAMS, (record.outcome.kind, record.dialect, record.mode))
        if record.gap_s > 0:
            yield Count(GAP_SECONDS, (record.dialect,), record.gap_s)
        yield from _outcome_counts(record.outcome)


def _outcome_counts(outcome: Outcome) -> Iterator[Count]:
    for join in outcome.joins:
        yield Count(JOINS, (join,))
    extra = outcome.extra_usage
    for kind, tokens in (("input", extra.input_tokens), ("output", extra.output_tokens)):
        if tokens:
            yield Count(EXTRA_TOKENS, (kind,), float(tokens))
    if outcome.degraded is not None:
        yield Count(DEGRADED, (outcome.degraded.partition(":")[0].strip(),))
