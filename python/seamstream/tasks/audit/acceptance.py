"""The acceptance table: nine rows, each with what passes, the check of it, and what to do when it fails."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from .attempt_checks import check_attempts, check_costs, check_limits
from .evidence import Evidence
from .release_checks import check_cancellation, check_rollback, check_versions
from .report import Findings, Row
from .step_checks import check_steps
from .tool_checks import check_text_side_effects, check_unknown_outcomes


@dataclass(frozen=True, slots=True)
class Demand:
    """What one row asks for. `action`: what the release process does when it does not hold."""

    name: str
    standard: str
    action: str
    check: Callable[[Evidence], Findings]


DEMANDS: Final = (
    Demand(
        "recovery switch",
        "allow_after_start is set on purpose, off or with a limit, and the limit was kept",
        "forbid automatic retries of network errors until the switch and its limit are set",
        check_limits,
    ),
    Demand(
        "attempt ledger",
        "the ledger is whole; each attempt has a beginning, one end, its metadata and its error",
        "add what is missing to the event table; never overwrite an earlier attempt",
        check_attempts,
    ),
    Demand(
        "text side effects",
        "no tool starts before the success of its turn is on record",
        "move the tool into the idempotent layer, or behind the commit",
        check_text_side_effects,
    ),
    Demand(
        "unknown outcomes",
        "each call has an id, an idempotency key and a way to ask or to undo; none is left unknown",
        "stop automatic recovery and move the call into the compensation queue",
        check_unknown_outcomes,
    ),
    Demand(
        "durable steps",
        "tools, files, sources, structured output and their order can be read back",
        "do not keep the final text alone",
        check_steps,
    ),
    Demand(
        "cancellation",
        "provider, tool requests, stream and worker all end",
        "mend the chain of cancellation",
        check_cancellation,
    ),
    Demand(
        "costs",
        "failed and successful attempts all have tokens or cost on record, or a mark that nobody told",
        "do not let the final result overwrite the bill",
        check_costs,
    ),
    Demand(
        "versions",
        "what works is what production has locked, the provider is on record, pre-releases stay apart",
        "isolate pre-releases, and lock what works",
        check_versions,
    ),
    Demand(
        "rollback drills",
        "somebody is responsible for rolling back code, tasks and side effects, and has rehearsed it",
        "do not open tools that write without a way to compensate",
        check_rollback,
    ),
)


def accept(evidence: Evidence) -> tuple[Row, ...]:
    """Judge all nine rows."""
    return tuple(_judged(number, demand, evidence) for number, demand in enumerate(DEMANDS, 1))


def _judged(number: int, demand: Demand, evidence: Evidence) -> Row:
    found = demand.check(evidence)
    said = (demand.name, demand.standard, demand.action)
    return Row(number, *said, verdict=found.verdict, notes=found.notes)
