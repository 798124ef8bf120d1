"""The alarm conditions of the unified events, as far as the ledger of one task can show them."""

from __future__ import annotations

from typing import Final

from .evidence import Evidence
from .report import Alarm, Note

UNKNOWN_TTL_S: Final = 900.0
"""How long a call's outcome may be unknown before that is an alarm."""
_FAILED: Final = ("attempt_failed", "stream_failed_after_start")


def alarms_of(evidence: Evidence) -> tuple[Alarm, ...]:
    """All five, raised or not."""
    return (
        _over_budget(evidence),
        _effect_after_failure(evidence),
        _recoveries(evidence),
        _unknown_too_long(evidence),
        _success_without_proof(evidence),
    )


def _over_budget(evidence: Evidence) -> Alarm:
    """Each step has one attempt of its own; every further one is a recovery."""
    attempts = evidence.of("attempt_started")
    steps = {entry.step_id for entry in attempts}
    notes = []
    if len(attempts) > len(steps) + evidence.task.max_recoveries:
        text = f"{len(attempts)} attempts, {len(steps)} steps and {evidence.task.max_recoveries} recoveries"
        notes.append(Note(text, tuple(entry.seq for entry in attempts)))
    return _alarm("stream_started", "a task has more attempts than its budget allows", notes)


def _effect_after_failure(evidence: Evidence) -> Alarm:
    failed = {entry.attempt: entry for entry in evidence.of(*_FAILED)}
    for trail in evidence.attempts:
        if trail.saved:
            failed.pop(trail.number, None)
    notes = [
        Note(
            f"tool call {entry.invocation_id} started after its attempt had failed", (failure.seq, entry.seq)
        )
        for entry in evidence.of("tool_started")
        if (failure := failed.get(entry.attempt)) is not None and failure.seq < entry.seq
    ]
    return _alarm("stream_failed_after_start", "a side effect follows the failure", notes)


def _recoveries(evidence: Evidence) -> Alarm:
    recoveries = tuple(entry.seq for entry in evidence.of("recovery_started"))
    attempts = len(evidence.of("attempt_started"))
    note = Note(f"{len(recoveries)} of {attempts} attempts here; a trend takes many tasks", recoveries)
    return Alarm("recovery_started", "the share of recoveries keeps rising", None, (note,))


def _unknown_too_long(evidence: Evidence) -> Alarm:
    notes = []
    for entry in evidence.of("tool_unknown"):
        ends = evidence.about(entry.invocation_id, "tool_succeeded", "tool_failed")
        ended_s = [end.at_s for end in ends if end.seq > entry.seq]
        for_s = (ended_s[0] if ended_s else evidence.now_s) - entry.at_s
        if for_s > UNKNOWN_TTL_S:
            notes.append(Note(f"tool call {entry.invocation_id}: for {for_s:.0f} s", (entry.seq,)))
    return _alarm("tool_unknown", f"an outcome is unknown for more than {UNKNOWN_TTL_S:.0f} s", notes)


def _success_without_proof(evidence: Evidence) -> Alarm:
    notes = []
    succeeded = {entry.step_id for entry in evidence.of("step_succeeded")}
    for entry in evidence.of("workflow_succeeded"):
        named = entry.details.get("step_ids")
        steps = [str(step) for step in named] if isinstance(named, list) else []
        if not steps or not succeeded.issuperset(steps):
            notes.append(Note("it names steps that did not succeed", (entry.seq,)))
        if "cost" not in entry.details:
            notes.append(Note("it has no cost: no price table was given", (entry.seq,)))
    return _alarm("workflow_succeeded", "a success has no succeeded step, or no cost", notes)


def _alarm(event: str, condition: str, notes: list[Note]) -> Alarm:
    return Alarm(event, condition, bool(notes), tuple(notes))
