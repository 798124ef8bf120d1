"""What only a person can decide about a tool call: that it took place, that it may, that it was undone."""

from __future__ import annotations

from typing import Any, Final, Literal

import orjson

from ..clock import Clock
from ..errors import StoreError
from ..stores.backend import Backend
from .creating import enqueue
from .journal import TaskJournal
from .ledger import read_ledger
from .reading import load_steps, load_task
from .records import PERSON, WAITING, DurableStep, Task, ToolInvocation
from .refusal import Refused
from .results import INLINE_BYTES
from .undoing import undo_of

Decision = Literal["executed", "not_executed", "approve", "deny", "undone"]
_OUTCOMES: Final = {"executed": "succeeded", "not_executed": "failed"}


async def resolve_call(
    backend: Backend,
    tenant: str,
    task_id: str,
    invocation_id: str,
    decision: Decision,
    *,
    by: str,
    clock: Clock,
    result: str = "null",
) -> ToolInvocation:
    """Settle a call of the manual queue, answer for its approval, or tell that its effect was undone; then
    have a worker go on with the task, if it waits. The same decision twice only does the latter again.

    `result`: of a call that took place, as JSON text. Refused when the call does not wait for this decision,
    or the result is not JSON of at most 32 KiB; StoreError when there is no such task.
    """
    task = await load_task(backend, tenant, task_id)
    step, call = _find(await load_steps(backend, tenant, task_id), invocation_id)
    _check_result(result)
    if not _decided(call, decision):
        await _check(backend, tenant, task, call, decision)
        journal = await TaskJournal.take(backend, tenant, task_id, owner=f"{PERSON}:{by}", clock=clock)
        call = await _Decision(journal, step, call, by).write(decision, result)
        task = journal.task  # as it stood when it was taken
    if task.state in WAITING:  # one that runs has a job
        await enqueue(backend, tenant, task_id)
    return call


def _find(steps: list[DurableStep], invocation_id: str) -> tuple[DurableStep, ToolInvocation]:
    for step in steps:
        for call in step.tool_calls:
            if call.id == invocation_id:
                return step, call
    raise Refused(f"the task has no tool call {invocation_id!r}")


def _check_result(result: str) -> None:
    try:
        orjson.loads(result)
    except orjson.JSONDecodeError as error:
        raise Refused(f"the result is no JSON: {error}") from error
    if len(result.encode()) > INLINE_BYTES:
        raise Refused(f"the result is larger than {INLINE_BYTES} bytes")


def _decided(call: ToolInvocation, decision: Decision) -> bool:
    """Was just this decided before?"""
    if decision in _OUTCOMES:
        return call.resolution == PERSON and call.status == _OUTCOMES[decision]
    approved = decision == "approve"
    return decision in ("approve", "deny") and call.approved is approved and not call.manual


async def _check(backend: Backend, tenant: str, task: Task, call: ToolInvocation, decision: Decision) -> None:
    if decision in _OUTCOMES:
        if not call.manual:
            raise Refused(f"tool call {call.id} is {call.status}, it does not wait for a person to say so")
        if task.state == "running":  # to take the task from its worker now would cut off its other calls
            raise Refused(f"a worker is at work on task {task.task_id}: decide when it waits")
    elif decision == "undone":
        undo = undo_of(await read_ledger(backend, tenant, task.task_id), call.id)
        if undo not in ("asked", "failed"):
            raise Refused(f"nobody was asked to undo tool call {call.id}")
    elif call.status != "planned" or call.approved is not None or task.state != "waiting":
        raise Refused(
            f"tool call {call.id} is {call.status} and its task {task.state}: it does not wait for approval"
        )


class _Decision:
    """Writes one decision under the epoch that its maker has taken."""

    def __init__(self, journal: TaskJournal, step: DurableStep, call: ToolInvocation, by: str) -> None:
        self._journal = journal
        self._step = step
        self._call = call
        self._by = by

    async def write(self, decision: Decision, result: str) -> ToolInvocation:
        if decision == "undone":
            await self._journal.tell(self._fact("tool_compensated", outcome="undone", resolution=PERSON))
            return self._call
        if self._step.step_id != self._journal.current_step.step_id:
            raise StoreError(f"tool call {self._call.id} is of a step that is over")
        if decision in _OUTCOMES:
            return await self._outcome(decision, result)
        fact = self._fact("tool_approval", answer=decision)
        return await self._journal.change_invocation(self._call.id, fact, approved=decision == "approve")

    async def _outcome(self, decision: Decision, result: str) -> ToolInvocation:
        status = _OUTCOMES[decision]
        fact = self._fact(f"tool_{status}", resolution=PERSON)
        kept: dict[str, Any] = {"result": result, "error": None}
        if status == "failed":
            kept = {"error": "a person has found that the call did not take place"}
        return await self._journal.change_invocation(
            self._call.id, fact, status=status, manual=False, resolution=PERSON, **kept
        )

    def _fact(self, event: str, **details: Any) -> Any:
        return self._journal.fact(
            event,
            invocation=self._call,
            kind="side_effect",
            step_id=self._step.step_id,
            tool_name=self._call.tool_name,
            by=self._by,
            **details,
        )
