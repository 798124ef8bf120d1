"""What must hold of the steps' records: everything that the next step depends on can be read back."""

from __future__ import annotations

from collections.abc import Sequence

from ..context import context_of
from ..records import DurableStep, FileRef, SourceRef, ToolInvocation
from .evidence import Evidence
from .report import Findings
from .trails import counted


def check_steps(evidence: Evidence) -> Findings:
    """Row 5. Tools, files, sources, structured output and their order can be read back, as they were."""
    found = Findings()
    numbers = [step.number for step in evidence.steps]
    begun = sorted(
        {entry.step_id for entry in evidence.of("step_started")}, key=lambda name: (len(name), name)
    )
    if numbers != list(range(1, len(numbers) + 1)) or len(begun) > len(numbers):
        found.fail(f"the ledger began steps {', '.join(begun)}, records are there of {numbers}")
    _check_order(evidence.task.files, "the task's files", found)
    _check_order(evidence.task.sources, "the task's sources", found)
    for step in evidence.steps:
        _check_step(evidence, step, found)
    _check_output(evidence, found)
    return found


def _check_step(evidence: Evidence, step: DurableStep, found: Findings) -> None:
    name = f"step {step.step_id}"
    _check_order(step.files, f"{name}: its files", found)
    _check_order(step.sources, f"{name}: its sources", found)
    _check_input(evidence, step, found)
    _check_end(evidence, step, found)
    for call in step.tool_calls:
        _check_call(evidence, call, found)
    planned = {e.invocation_id for e in evidence.of("tool_planned") if e.step_id == step.step_id}
    for missing in sorted(planned - {call.id for call in step.tool_calls}):
        found.fail(f"{name}: tool call {missing} is not in its record")
    seqs = [
        entry.seq for entry in evidence.of("step_started", "step_succeeded") if entry.step_id == step.step_id
    ]
    held = ", ".join(
        (
            counted(len(step.tool_calls), "tool call"),
            counted(len(step.files), "file"),
            counted(len(step.sources), "source"),
        )
    )
    found.show(f"{name}: {held} can be read back", *seqs)


def _check_order(references: Sequence[FileRef | SourceRef], name: str, found: Findings) -> None:
    orders = [reference.order for reference in references]
    if orders != list(range(len(orders))):
        found.fail(f"{name} are out of order: {orders}")


def _check_input(evidence: Evidence, step: DurableStep, found: Findings) -> None:
    """Every attempt of a step was made from the input that the step began with."""
    told = [e for e in evidence.of("step_started", "attempt_started") if e.step_id == step.step_id]
    for entry in told:
        if entry.details.get("input_digest") != step.input_digest:
            found.fail(f"step {step.step_id}: an attempt had another input than the step", entry.seq)
    if not told and not evidence.untold:
        found.fail(f"step {step.step_id} has a record, but no entry in the ledger")


def _check_end(evidence: Evidence, step: DurableStep, found: Findings) -> None:
    """What a step left behind is what its success entry says."""
    ends = [entry for entry in evidence.of("step_succeeded") if entry.step_id == step.step_id]
    if step.state == "succeeded" and not ends and not evidence.untold:
        found.fail(f"step {step.step_id} succeeded, but not by its ledger")
    for entry in ends:
        if entry.details.get("context_digest") != context_of(step)["context_digest"]:
            found.fail(f"step {step.step_id}: its files, sources or output are not what they were", entry.seq)


def _check_call(evidence: Evidence, call: ToolInvocation, found: Findings) -> None:
    name = f"tool call {call.id} ({call.tool_name})"
    for entry in evidence.about(call.id, "tool_planned"):
        if entry.details.get("input_hash") != call.input_hash:
            found.fail(f"{name} does not have the input that was planned", entry.seq)
    if call.status != "succeeded":
        return
    if not evidence.about(call.id, "tool_succeeded") and not evidence.untold:
        found.fail(f"{name} succeeded, but not by its ledger")
    _check_result(evidence, call, name, found)


def _check_result(evidence: Evidence, call: ToolInvocation, name: str, found: Findings) -> None:
    seqs = [entry.seq for entry in evidence.about(call.id, "tool_succeeded")]
    if call.result_ref is None:
        if call.result is None:
            found.fail(f"the result of {name} is gone", *seqs)
    elif call.result_ref.path in evidence.unreadable:
        found.fail(f"the result of {name} cannot be read: {evidence.unreadable[call.result_ref.path]}", *seqs)
    elif not evidence.looked_up:
        found.doubt(f"the result of {name} is an object, and no result store was given (--results)", *seqs)


def _check_output(evidence: Evidence, found: Findings) -> None:
    task = evidence.task
    if not task.output_schema or task.state != "succeeded":
        return
    output = evidence.steps[-1].structured_output if evidence.steps else None
    if output is None:
        found.fail(f"the structured output of schema {task.output_schema} is gone")
    elif output.schema_version != task.output_schema:
        found.fail(
            f"the output was read by schema {output.schema_version}, the task has {task.output_schema}"
        )
