"""Runs the tool calls of a step: each only after its `started` record is durable, and never a write twice.

A call that another owner had started is not started again if it writes: its outcome is unknown until the tool
itself has said what became of it (`resolving.py`). What only reads is simply read again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final, Literal, cast, get_args

from ..clock import Clock
from ..errors import StaleOwner, StoreError
from ..within import within
from .hold import HandOver, Hold
from .journal import TaskJournal
from .outcomes import Outcomes
from .plain import clean, described
from .records import ToolInvocation
from .resolving import Resolver
from .results import ResultStore
from .schema import BadArguments, read_arguments
from .tools import Pending, Tool, Toolbox, ToolContext, ToolFailed, called

_LOG: Final = logging.getLogger("seamstream.tasks")

Approval = Literal["approve", "deny", "wait"]
Approve = Callable[[ToolContext, str, dict[str, Any]], Approval | Awaitable[Approval]]
"""Asked before a call starts, with its context, the tool's name and its arguments. "wait": people decide."""

MAX_EXECUTIONS: Final = 5
"""A call that only reads is not started again so often: it may be what ends its workers."""
MAX_POLL_FAILURES: Final = 5
"""A job whose state cannot be asked so often in a row goes to the manual queue."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What an invoker works with."""

    toolbox: Toolbox
    tenant: str
    clock: Clock
    hold: Hold
    results: ResultStore | None = None
    approve: Approve | None = None


class Invoker:
    """The tool calls of the journal's current step."""

    def __init__(self, journal: TaskJournal, around: Surroundings) -> None:
        self._journal = journal
        self._around = around
        self._outcomes = Outcomes(journal, around.tenant, around.clock, around.results)
        self._resolver = Resolver(journal, around.clock, self._outcomes.succeeded, self._outcomes.failed)

    async def run(self) -> tuple[ToolInvocation, ...]:
        """Bring every call as far as it can come, in the model's order; neighbours that are declared safe
        run side by side.
        """
        for group in self._groups(self._journal.current_step.tool_calls):
            if len(group) == 1:
                await self._settle(group[0])
            else:
                await self._side_by_side(group)
        return self._journal.current_step.tool_calls

    async def clear_up(self) -> None:
        """The task is being cancelled: find out what became of writes that were cut off."""
        for call in self._journal.current_step.tool_calls:
            tool = self._around.toolbox.get(call.tool_name)
            if _writes(call, tool) and call.status in ("started", "unknown") and not call.manual:
                await self._resolver.resolve(call, tool, self._outcomes.context(call))

    async def _side_by_side(self, group: Iterable[ToolInvocation]) -> None:
        """If one ends the work, it ends that of all, and speaks for them. But one that is not to start any
        more, or that the store has failed, lets those that have started come to their end.
        """
        stopped: list[HandOver | StoreError] = []

        async def settle(call: ToolInvocation) -> None:
            try:
                await self._settle(call)
            except StaleOwner:
                raise
            except (HandOver, StoreError) as error:
                stopped.append(error)

        try:
            async with asyncio.TaskGroup() as running:
                for call in group:
                    running.create_task(settle(call))
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from errors
        if stopped:
            raise stopped[0]

    def _groups(self, calls: Iterable[ToolInvocation]) -> Iterable[list[ToolInvocation]]:
        together: list[ToolInvocation] = []
        for call in calls:
            tool = self._around.toolbox.get(call.tool_name)
            if tool is not None and tool.parallel:
                together.append(call)
                continue
            if together:
                yield together
            together = []
            yield [call]
        if together:
            yield together

    async def _settle(self, call: ToolInvocation) -> None:
        tool = self._around.toolbox.get(call.tool_name)
        if call.settled or call.manual:
            return
        if call.status != "planned" and tool is not None and tool.job is not None and call.job_id is not None:
            await self._poll(call, tool, self._outcomes.context(call))
        elif call.status != "planned" and _writes(call, tool):
            await self._resolver.resolve(call, tool, self._outcomes.context(call))
        elif tool is None:
            await self._outcomes.failed(call, f"there is no tool {call.tool_name}")
        elif call.executions >= MAX_EXECUTIONS:
            await self._outcomes.failed(call, f"its worker was lost {call.executions} times while it ran")
        else:
            await self._begin(call, tool)

    async def _begin(self, call: ToolInvocation, tool: Tool) -> None:
        try:
            arguments = read_arguments(tool.parameters, call.arguments)
        except BadArguments as error:
            await self._outcomes.failed(call, str(error))
            return
        if call.status != "planned" or await self._approved(call, arguments):
            await self._execute(call, tool, arguments)

    async def _approved(self, call: ToolInvocation, arguments: dict[str, Any]) -> bool:
        if self._around.approve is None or call.approved:
            return True
        if call.approved is False:
            await self._outcomes.failed(call, "the call was not approved", resolution="denied")
            return False
        answer = await self._answer(self._around.approve, call, arguments)
        fact = self._journal.fact("tool_approval", invocation=call, answer=answer)
        if answer == "wait":
            await self._journal.tell(fact)
        elif answer == "deny":
            await self._journal.tell(fact)
            await self._outcomes.failed(call, "the call was not approved", resolution="denied")
        else:
            await self._journal.change_invocation(call.id, fact, approved=True)
        return answer == "approve"

    async def _answer(self, approve: Approve, call: ToolInvocation, arguments: dict[str, Any]) -> Approval:
        """What the hook says. Only "approve" approves a call; for what is no answer, people decide."""
        said: Any = await called(approve, self._outcomes.context(call), call.tool_name, arguments)
        if said in get_args(Approval):
            return cast("Approval", said)
        known = ", ".join(get_args(Approval))
        _LOG.error("approve answered %s for tool call %s, not one of %s", type(said).__name__, call.id, known)
        return "wait"

    async def _execute(self, call: ToolInvocation, tool: Tool, arguments: dict[str, Any]) -> None:
        self._around.hold.check_start()
        call = await self._started(call, tool)
        context = self._outcomes.context(call)
        self._around.hold.check_lease()
        try:
            calling = called(tool.function, context, **arguments)
            got = await within(self._around.clock, tool.timeout_s, calling)
        except ToolFailed as error:
            await self._outcomes.failed(call, described(error), context)
            return
        except Exception as error:
            await self._broke(call, tool, context, error)
            return
        if tool.job is None:
            await self._outcomes.succeeded(call, got, context)
            return
        job_id = "" if got is None else str(got)
        if not job_id or job_id != clean(job_id):  # nobody could ask for it
            await self._broke(call, tool, context, ToolFailed("the tool returned no id of its job"))
            return
        submitted = self._journal.fact("tool_submitted", invocation=call, kind="side_effect", job_id=job_id)
        call = await self._journal.change_invocation(call.id, submitted, job_id=job_id)
        await self._poll(call, tool, context)

    async def _started(self, call: ToolInvocation, tool: Tool) -> ToolInvocation:
        """The record that must be durable before anything happens."""
        # Who planned the call may have had another version of the tool: what was once said to write stays so.
        side_effect = tool.side_effect if call.side_effect == "none" else call.side_effect
        started = self._journal.fact(
            "tool_started",
            invocation=call,
            kind="side_effect",
            tool_name=call.tool_name,
            input_hash=call.input_hash,
            side_effect=side_effect,
            idempotency_key=self._outcomes.context(call).idempotency_key,
            repeated=True if call.executions else None,
        )
        epoch = self._journal.task.epoch
        return await self._journal.change_invocation(
            *(call.id, started),
            status="started",
            side_effect=side_effect,
            epoch=epoch,
            executions=call.executions + 1,
        )

    async def _broke(self, call: ToolInvocation, tool: Tool, context: ToolContext, error: Exception) -> None:
        """What only reads has failed; of a write nobody can say."""
        if _writes(call, tool):
            await self._resolver.resolve(call, tool, context, because=type(error).__name__)
        else:
            await self._outcomes.failed(call, f"{type(error).__name__}: {described(error)}", context)

    async def _poll(self, call: ToolInvocation, tool: Tool, context: ToolContext) -> None:
        """Ask for the work until it is done. The work itself is submitted once."""
        if tool.job is None:
            raise StoreError(f"tool {tool.name} is no job, but call {call.id} has submitted one")
        failures = 0
        context.job_id = call.job_id
        while failures < MAX_POLL_FAILURES:
            try:
                got = await within(self._around.clock, tool.timeout_s, called(tool.job, context, call.job_id))
            except ToolFailed as error:
                await self._outcomes.failed(call, described(error), context)
                return
            except Exception:
                failures += 1
                got = Pending()
            else:
                failures = 0
            if not isinstance(got, Pending):
                await self._outcomes.succeeded(call, got, context)
                return
            self._around.hold.check_start()  # whoever is next can ask as well
            await self._around.clock.sleep(got.after_s)
        await self._resolver.hand_to_people(call, "its job could not be asked for")


def _writes(call: ToolInvocation, tool: Tool | None) -> bool:
    """May the call change anything, by what its tool says now or said when the call began?"""
    return call.side_effect != "none" or (tool is not None and tool.writes)
