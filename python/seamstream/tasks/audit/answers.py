"""The four questions that a system must be able to answer about a task, answered from its evidence."""

from __future__ import annotations

from collections.abc import Iterator

from ..records import FileRef, SourceRef, ToolInvocation
from ..undoing import undo_of
from .evidence import Evidence
from .report import Answer, Note
from .step_checks import check_steps
from .trails import AttemptTrail, count_in, counted


def answers_of(evidence: Evidence) -> tuple[Answer, ...]:
    """All four."""
    return (
        Answer("Which attempt sent fragments to the user?", tuple(_fragments(evidence))),
        Answer("Which tools were executed, which are unknown?", tuple(_tools(evidence))),
        Answer("Are files, sources and schema those of the original step?", tuple(_sameness(evidence))),
        Answer("How are code, task, side effects and credentials rolled back?", tuple(_rollback(evidence))),
    )


# ---------------------------------------------------------------- fragments


def _fragments(evidence: Evidence) -> Iterator[Note]:
    for trail in evidence.attempts:
        yield Note(f"attempt {trail.number}: {_sent(trail)}, {_ended(trail)}", trail.seqs)
    if not evidence.attempts:
        yield Note("none: the model was never asked")
    for step in evidence.steps:
        spans = step.turn.provenance if step.turn is not None else ()
        for span in spans:
            yield Note(
                f"step {step.step_id}: characters {span.start} to {span.end} are of attempt {span.attempt}"
            )


def _sent(trail: AttemptTrail) -> str:
    if not trail.streams:
        return "sent nothing"
    counts = [count_in(end, "emitted_chars") for end in trail.ends if "emitted_chars" in end.details]
    return f"sent {counted(max(counts), 'character')}" if counts else "nobody knows how much was sent"


def _ended(trail: AttemptTrail) -> str:
    if not trail.ends:
        return "it has not ended"
    error = trail.ends[-1].details.get("error")
    return "succeeded" if trail.succeeded else f"failed ({error or 'without an error'})"


# ---------------------------------------------------------------- tools


def _tools(evidence: Evidence) -> Iterator[Note]:
    calls = list(evidence.calls)
    for call in calls:
        seqs = tuple(entry.seq for entry in evidence.entries if entry.invocation_id == call.id)
        yield Note(f"{call.id} {call.tool_name} ({call.side_effect}): {_became(evidence, call)}", seqs)
    if not calls:
        yield Note("none: the model called no tool")


def _became(evidence: Evidence, call: ToolInvocation) -> str:
    by = f", settled by {call.resolution}" if call.resolution else ""
    undo = undo_of(evidence.entries, call.id)
    if undo == "undone":
        return f"undone{by}"
    if undo == "asked":
        return f"executed{by}, a person is to undo it"
    if call.status == "succeeded":
        return f"executed{by}"
    if call.status == "unknown":
        return "unknown, in the manual queue" if call.manual else "unknown"
    if call.status == "failed":
        return ("not executed" if call.executions == 0 else "failed") + by
    if call.status == "started":
        return "unknown" if evidence.task.over else "started, under way"
    return "planned, not executed"


# ---------------------------------------------------------------- sameness


def _sameness(evidence: Evidence) -> Iterator[Note]:
    problems = check_steps(evidence).problems
    yield from problems
    if not problems:
        seqs = [entry.seq for entry in evidence.of("step_started", "attempt_started", "step_succeeded")]
        yield Note(
            "yes: each attempt had its step's input, and all orders and digests are as recorded", tuple(seqs)
        )
    if evidence.task.origin:
        yield from _against_origin(evidence)
    now_s = evidence.now_s
    for file in _files(evidence):
        if file.expires_at_s is not None and file.expires_at_s <= now_s:
            yield Note(f"file {file.id} has expired since")
    schema = evidence.task.output_schema
    yield Note(f"the output's schema has version {schema}" if schema else "there is no output schema")


def _files(evidence: Evidence) -> Iterator[FileRef]:
    yield from evidence.task.files
    for step in evidence.steps:
        yield from step.files


def _against_origin(evidence: Evidence) -> Iterator[Note]:
    task, origin = evidence.task, evidence.origin
    if origin is None:
        yield Note(f"task {task.origin}, which this one tries again, is gone: they cannot be compared")
        return
    pairs: tuple[tuple[str, object, object], ...] = (
        ("request", task.input_digest, origin.input_digest),
        ("files", task.files, origin.files),
        ("sources", _places(task.sources), _places(origin.sources)),
        ("schema", task.output_schema, origin.output_schema),
    )
    differ = [name for name, mine, theirs in pairs if mine != theirs]
    compared = f"not the same as in task {origin.task_id}: {', '.join(differ)}"
    yield Note(
        compared if differ else f"the same request, files, sources and schema as task {origin.task_id}"
    )


def _places(sources: tuple[SourceRef, ...]) -> list[str]:
    return [source.uri for source in sources]


# ---------------------------------------------------------------- rolling back


def _rollback(evidence: Evidence) -> Iterator[Note]:
    yield _code(evidence)
    yield _task(evidence)
    writes = [call for call in evidence.calls if call.side_effect != "none" and call.executions]
    for call in writes:
        yield Note(f"side effect: {call.id} {call.tool_name}: {_undo(evidence, call)}")
    if not writes:
        yield Note("side effects: no tool that writes was started")
    yield Note("credentials: none is stored with a task; revoke them where they were issued")


def _code(evidence: Evidence) -> Note:
    workers = evidence.of("worker_versions")
    if not workers:
        return Note("code: no worker has said what it runs")
    versions = workers[0].details.get("versions")
    pinned = versions.get("seamstream") if isinstance(versions, dict) else None
    return Note(
        f"code: pin seamstream {pinned} and what else entry {workers[0].seq} lists", (workers[0].seq,)
    )


def _task(evidence: Evidence) -> Note:
    task = evidence.task
    if task.over:
        return Note(f"task: it is {task.state}; `seamstream tasks retry` begins a new one from its request")
    return Note("task: `seamstream tasks rollback --layer task` ends it; `retry` begins a new one")


def _undo(evidence: Evidence, call: ToolInvocation) -> str:
    undo = undo_of(evidence.entries, call.id)
    if undo != "not_asked":
        return {"undone": "undone", "asked": "waits for a person", "failed": "its compensation failed"}[undo]
    if call.status == "failed":
        return "nothing has happened"
    declared = "by its compensation" if call.side_effect == "compensatable" else "by a person"
    released = evidence.release.undo.get(call.tool_name) if evidence.release is not None else None
    return f"is undone {declared}" + (f" ({released})" if released else "")
