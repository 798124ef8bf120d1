"""What must hold of attempts: recovery has its limits, each attempt is on record, and each has its bill."""

from __future__ import annotations

from ..records import DurableStep
from .evidence import Evidence
from .release import RecoveryDecision
from .report import Findings
from .trails import STREAMED, SUCCEEDED, AttemptTrail


def check_limits(evidence: Evidence) -> Findings:
    """Row 1. Recovery after an answer has begun is a decision with a limit, and the limit was kept."""
    found = Findings()
    task = evidence.task
    for created in evidence.of("task_created"):
        recorded = (created.details.get("allow_after_start"), created.details.get("max_recoveries"))
        if recorded != (task.allow_after_start, task.max_recoveries):
            found.fail("the task's limits are not those that it was created with", created.seq)
    _check_budget(evidence, found)
    if evidence.release is None:
        found.doubt("without a release file nobody can tell what limits were decided")
    elif evidence.release.recovery is None:
        found.fail("the release file does not set recovery.allow_after_start and recovery.max_recoveries")
    else:
        _check_decision(evidence, evidence.release.recovery, found)
    allowed = str(task.allow_after_start).lower()
    created_at = [entry.seq for entry in evidence.of("task_created")]
    found.show(f"allow_after_start is {allowed}, as decided", *created_at)
    used = [entry.seq for entry in evidence.of("recovery_started")]
    found.show(f"{len(used)} of at most {task.max_recoveries} recoveries were used", *used)
    return found


def _check_budget(evidence: Evidence, found: Findings) -> None:
    task, recoveries = evidence.task, evidence.of("recovery_started")
    pending = sum(fact.event == "recovery_started" for fact in evidence.untold)
    if len(recoveries) + pending != task.recoveries:
        seqs = [entry.seq for entry in recoveries]
        found.fail(f"the task counts {task.recoveries} recoveries, its ledger {len(recoveries)}", *seqs)
    for number, entry in enumerate(recoveries, 1):
        if number > task.max_recoveries:
            found.fail(f"recovery {number} is over the budget of {task.max_recoveries}", entry.seq)
        elif entry.details.get("remaining_budget") != task.max_recoveries - number:
            found.fail(f"recovery {number} did not lower the budget by one", entry.seq)
    if not task.allow_after_start:
        began = {entry.attempt for entry in evidence.of(STREAMED)}
        for entry in recoveries:
            if entry.details.get("previous_attempt") in began:
                found.fail("an answer that had begun was recovered, which the task does not allow", entry.seq)


def _check_decision(evidence: Evidence, decided: RecoveryDecision, found: Findings) -> None:
    task = evidence.task
    if task.allow_after_start and not decided.allow_after_start:
        found.fail("the task allows recovery after an answer has begun, the release does not")
    if task.max_recoveries > decided.max_recoveries:
        found.fail(f"the task allows {task.max_recoveries} recoveries, the release {decided.max_recoveries}")
    for entry in evidence.of("worker_versions"):
        if entry.details.get("allow_after_start") and not decided.allow_after_start:
            found.fail("a worker's policy allows recovery after an answer has begun", entry.seq)
        if decided.policy_digest and entry.details.get("policy_digest") != decided.policy_digest:
            found.fail("a worker's policy is not the one that was released", entry.seq)


def check_attempts(evidence: Evidence) -> Findings:
    """Row 2. The ledger is whole; in it each attempt has a beginning, one end, and an error if it failed."""
    found = Findings()
    for problem in evidence.broken:
        found.fail(f"the ledger is broken: {problem}")
    if not evidence.entries:
        found.fail("there is no ledger")
    if evidence.expected is not None and not evidence.has(evidence.expected):
        found.fail("the ledger does not contain the evidence that was named: it was written anew")
    if evidence.untold:
        events = ", ".join(sorted({fact.event for fact in evidence.untold}))
        found.doubt(f"the last change is not in the ledger ({events}): not yet, or its end was cut off")
    numbers = {trail.number for trail in evidence.attempts}
    for missing in sorted(set(range(1, evidence.task.attempts + 1)) - numbers):
        if not any(fact.attempt == missing for fact in evidence.untold):
            found.fail(f"the task has charged for attempt {missing}, the ledger does not have it")
    for trail in evidence.attempts:
        _check_trail(evidence, trail, found)
    for step in evidence.steps:
        _check_provenance(step, numbers, found)
        _check_final(evidence, step, found)
    found.show(f"{len(evidence.entries)} entries, each chained to the one before it")
    return found


def _check_trail(evidence: Evidence, trail: AttemptTrail, found: Findings) -> None:
    name = f"attempt {trail.number}"
    if len(trail.starts) != 1:
        found.fail(f"{name} has {len(trail.starts)} beginnings", *trail.seqs)
    elif not trail.starts[0].details.get("request_digest"):
        found.fail(f"{name} does not say what was sent", trail.starts[0].seq)
    if trail.number > evidence.task.attempts:
        found.fail(f"{name} was never charged to the task", *trail.seqs)
    if not trail.ends and evidence.task.state == "running":
        found.doubt(f"{name} has not ended yet", *trail.seqs)
    elif len(trail.ends) != 1 and not trail.saved:
        found.fail(f"{name} has {len(trail.ends)} ends", *trail.seqs)
    for end in trail.ends:
        if end.event != SUCCEEDED and not end.details.get("error"):
            found.fail(f"{name} failed without an error", end.seq)
    how = "was saved" if trail.saved else "succeeded" if trail.succeeded else "failed"
    found.show(f"{name} {how}", *trail.seqs)


def _check_provenance(step: DurableStep, numbers: set[int], found: Findings) -> None:
    """Every character of what was said came from an attempt that is on record."""
    if step.turn is None:
        return
    if step.turn.final_attempt not in numbers:
        found.fail(
            f"step {step.step_id} names attempt {step.turn.final_attempt} as final, which is not there"
        )
    at = 0
    for span in step.turn.provenance:
        if span.start != at or span.attempt not in numbers:
            found.fail(f"step {step.step_id}: nobody can say where characters from {at} on came from")
            return
        at = span.end
    if at != len(step.turn.text):
        found.fail(f"step {step.step_id}: nobody can say where characters from {at} on came from")


def _check_final(evidence: Evidence, step: DurableStep, found: Findings) -> None:
    """What was said is what the success of its attempt has told."""
    if step.turn is None:
        return
    kept = [[span.start, span.end, span.attempt] for span in step.turn.provenance]
    for entry in evidence.of(SUCCEEDED):
        if entry.attempt == step.turn.final_attempt and entry.details.get("provenance") != kept:
            found.fail(f"step {step.step_id}: its characters are not those of the success entry", entry.seq)


def check_costs(evidence: Evidence) -> Findings:
    """Row 7. Every attempt, failed ones too, has its usage once, or a mark that nobody reported it."""
    found = Findings()
    for trail in evidence.attempts:
        if len(trail.bills) > 1:
            found.fail(f"attempt {trail.number} was billed again", *(bill.seq for bill in trail.bills))
        elif trail.counted is not None:
            cost = trail.counted.details.get("cost")
            priced = "no price was given" if cost is None else f"cost {cost:g}"
            found.show(f"attempt {trail.number}: tokens are on record, {priced}", trail.counted.seq)
        elif trail.uncounted is not None:
            found.show(f"attempt {trail.number}: marked as reported by nobody", trail.uncounted.seq)
        elif trail.ends or evidence.task.over:
            found.fail(
                f"attempt {trail.number} has neither a usage nor a mark that it is missing", *trail.seqs
            )
        else:
            found.doubt(f"attempt {trail.number} has not ended yet", *trail.seqs)
    if not evidence.attempts:
        found.show("the model was never asked")
    return found
