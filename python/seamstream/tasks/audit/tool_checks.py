"""What must hold of tool calls: none ran before its turn was on record, and no outcome is left open."""

from __future__ import annotations

from ..ledger import Entry
from ..records import ToolInvocation
from .evidence import Evidence
from .report import Findings
from .trails import SUCCEEDED, counted

SOUGHT = ("tool_queried", "tool_compensated", "tool_manual", "tool_succeeded", "tool_failed")
"""What may follow a `tool_unknown`: somebody has gone after the outcome."""


def check_text_side_effects(evidence: Evidence) -> Findings:
    """Row 3. Streaming text touched nothing: a tool starts only behind its turn's success."""
    found = Findings()
    succeeded = {entry.attempt: entry.seq for entry in evidence.of(SUCCEEDED)}
    planned = {entry.invocation_id: entry.seq for entry in evidence.of("tool_planned")}
    for entry in evidence.of("tool_started"):
        name = f"tool call {entry.invocation_id}"
        turn, plan = succeeded.get(entry.attempt), planned.get(entry.invocation_id)
        if turn is None:
            found.fail(f"{name} started, but its attempt {entry.attempt} never succeeded", entry.seq)
        elif turn > entry.seq:
            found.fail(f"{name} started before attempt {entry.attempt} had succeeded", entry.seq, turn)
        elif plan is None or plan > entry.seq:
            found.fail(f"{name} started before its turn was kept", entry.seq)
        else:
            found.show(f"{name} started behind attempt {entry.attempt}", turn, plan, entry.seq)
    if not evidence.of("tool_started"):
        found.show("no tool was started")
    return found


def check_unknown_outcomes(evidence: Evidence) -> Findings:
    """Row 4. Every call has its id, its idempotency key and a way to find out; none is left unknown."""
    found = Findings()
    for entry in evidence.of("tool_started"):
        _check_start(evidence, entry, found)
    for entry in evidence.of("tool_unknown"):
        _check_search(evidence, entry, found)
    for call in evidence.calls:
        _check_call(evidence, call, found)
    started = [entry.seq for entry in evidence.of("tool_started")]
    found.show(f"started {counted(len(started), 'tool call')}, each outcome is known", *started)
    return found


def _check_start(evidence: Evidence, entry: Entry, found: Findings) -> None:
    name = f"tool call {entry.invocation_id}"
    if not (entry.invocation_id and entry.details.get("idempotency_key") and entry.details.get("input_hash")):
        found.fail(f"{name} started without an idempotency key or a hash of its input", entry.seq)
    starts = evidence.about(entry.invocation_id, "tool_started")
    if entry.details.get("side_effect") != "none" and starts[0].seq < entry.seq:
        found.fail(f"{name} has a side effect and was started again", starts[0].seq, entry.seq)


def _check_search(evidence: Evidence, unknown: Entry, found: Findings) -> None:
    after = [entry for entry in evidence.about(unknown.invocation_id, *SOUGHT) if entry.seq > unknown.seq]
    if not after:
        found.fail(f"nobody has gone after the outcome of tool call {unknown.invocation_id}", unknown.seq)
        return
    ends = [entry for entry in after if entry.event in ("tool_succeeded", "tool_failed")]
    if ends:
        how = ends[-1].details.get("resolution") or "its own answer"
        found.show(
            f"tool call {unknown.invocation_id} was unknown, settled by {how}", unknown.seq, ends[-1].seq
        )


def _check_call(evidence: Evidence, call: ToolInvocation, found: Findings) -> None:
    name = f"tool call {call.id} ({call.tool_name})"
    seqs = [entry.seq for entry in evidence.about(call.id, "tool_started", "tool_unknown", "tool_manual")]
    if call.status == "unknown":
        queue = "in the manual queue" if call.manual else "in no queue"
        found.fail(f"the outcome of {name} is unknown, it is {queue}", *seqs)
    elif call.status == "started" and evidence.task.state != "running":
        found.fail(f"{name} was started, and nobody has found out what became of it", *seqs)
    elif call.status == "started":
        found.doubt(f"{name} is under way", *seqs)
