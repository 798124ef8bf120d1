"""Taking back what a task's tools did, once the task is over: by the tools' own compensation, else by people.

The calls' records stay as they are, they tell what happened; that it was taken back stands in the ledger.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from ..within import within
from .agent import Agent
from .journal import TaskJournal
from .ledger import Entry, read_ledger
from .reading import load_steps, load_task
from .records import PERSON, DurableStep, ToolInvocation
from .refusal import Refused
from .schema import read_arguments
from .tools import Tool, called, context_for

Undo = Literal["not_asked", "asked", "failed", "undone"]
"""How far taking back a call has come. "asked": a person is to do it; "failed": its compensation did not end
well."""


@dataclass(frozen=True, slots=True)
class Undone:
    """What became of the wish to take back one call."""

    call: ToolInvocation
    undo: Undo


def undo_of(entries: Iterable[Entry], invocation_id: str) -> Undo:
    """How far taking back this call has come, by the ledger."""
    undo: Undo = "not_asked"
    for entry in entries:
        if entry.invocation_id != invocation_id or undo == "undone":
            continue
        if entry.event == "tool_compensated":
            undo = "undone" if entry.details.get("outcome") == "undone" else "failed"
        elif entry.event == "undo_asked":
            undo = "asked"
    return undo


async def undo_calls(agent: Agent, tenant: str, task_id: str, *, by: str) -> list[Undone]:
    """Take back each write that took place and was not taken back yet, the last one first. A call that has no
    compensation, or one that fails, waits for a person (`resolve_call` with "undone").

    Refused while the task is not over, or while the outcome of a write is unknown.
    """
    task = await load_task(agent.store, tenant, task_id)
    if not task.over:
        raise Refused(f"task {task_id} is {task.state}: end it before its effects are taken back")
    steps = await load_steps(agent.store, tenant, task_id)
    written = [(step, call) for step in steps for call in step.tool_calls if call.side_effect != "none"]
    for _, call in written:
        if call.status in ("started", "unknown"):
            raise Refused(f"the outcome of tool call {call.id} is unknown: resolve it first")
    journal = await TaskJournal.take(agent.store, tenant, task_id, owner=f"{PERSON}:{by}", clock=agent.clock)
    undoing = _Undoing(agent, journal, tenant, await read_ledger(agent.store, tenant, task_id))
    took_place = [(step, call) for step, call in written if call.status == "succeeded"]
    return [await undoing.undo(step, call) for step, call in reversed(took_place)]


class _Undoing:
    def __init__(self, agent: Agent, journal: TaskJournal, tenant: str, entries: list[Entry]) -> None:
        self._agent = agent
        self._journal = journal
        self._tenant = tenant
        self._entries = entries

    async def undo(self, step: DurableStep, call: ToolInvocation) -> Undone:
        undo = undo_of(self._entries, call.id)
        if undo in ("undone", "asked"):
            return Undone(call, undo)
        tool = self._agent.toolbox.get(call.tool_name)
        if tool is None or tool.compensate is None:
            return await self._ask_people(step, call, "it has no compensation")
        outcome = await self._compensate(step, call, tool)
        if outcome == "undone":
            return Undone(call, "undone")
        return await self._ask_people(step, call, f"its compensation {outcome}")

    async def _compensate(self, step: DurableStep, call: ToolInvocation, tool: Tool) -> str:
        context = context_for(self._journal.task, call)
        await self._tell("tool_compensating", step, call)
        outcome = "undone"
        try:
            if tool.compensate is not None:
                arguments = read_arguments(tool.parameters, call.arguments)
                await within(self._agent.clock, tool.timeout_s, called(tool.compensate, context, **arguments))
        except Exception as error:
            outcome = f"failed: {type(error).__name__}"
        await self._tell("tool_compensated", step, call, outcome=outcome)
        return outcome

    async def _ask_people(self, step: DurableStep, call: ToolInvocation, why: str) -> Undone:
        await self._tell("undo_asked", step, call, why=why)
        return Undone(call, "asked")

    async def _tell(self, event: str, step: DurableStep, call: ToolInvocation, **details: Any) -> None:
        fact = self._journal.fact(
            event,
            invocation=call,
            kind="side_effect",
            step_id=step.step_id,
            tool_name=call.tool_name,
            **details,
        )
        await self._journal.tell(fact)
