"""What became of a write whose outcome is unknown: ask the tool, else undo it, else let a person decide.

The write itself is never sent again from here. An answer of the tool settles the call; where there is none,
undoing it leaves nothing behind; a call that can be neither asked for nor undone waits in the manual queue.
"""

from __future__ import annotations

from typing import Any, Protocol

from ..clock import Clock
from ..within import within
from .journal import TaskJournal
from .records import ToolInvocation
from .schema import BadArguments, read_arguments
from .tools import Executed, NotExecuted, Tool, ToolContext, called


class Succeeded(Protocol):
    """Records that a call took place."""

    async def __call__(
        self, call: ToolInvocation, result: Any, context: ToolContext, *, resolution: str | None = None
    ) -> None: ...


class Failed(Protocol):
    """Records that a call left nothing behind."""

    async def __call__(
        self,
        call: ToolInvocation,
        error: str,
        context: ToolContext | None = None,
        *,
        resolution: str | None = None,
    ) -> None: ...


class Resolver:
    """Settles calls of the journal's current step that nobody knows the outcome of."""

    def __init__(self, journal: TaskJournal, clock: Clock, succeeded: Succeeded, failed: Failed) -> None:
        self._journal = journal
        self._clock = clock
        self._succeeded = succeeded
        self._failed = failed

    async def resolve(
        self, call: ToolInvocation, tool: Tool | None, context: ToolContext, *, because: str = "owner_lost"
    ) -> None:
        """Query, then compensate, then the manual queue; at once if this process has no such tool, or one
        that these arguments do not fit.
        """
        call = await self._unknown(call, context, because)
        if tool is None:
            await self.hand_to_people(call, f"there is no tool {call.tool_name} here that could be asked")
            return
        try:
            arguments = read_arguments(tool.parameters, call.arguments)
        except BadArguments:
            await self.hand_to_people(call, f"the call does not fit the tool {call.tool_name} that is here")
            return
        answer = await self._asked(call, tool, context, arguments)
        if isinstance(answer, Executed):
            await self._succeeded(call, answer.result, context, resolution="query")
        elif isinstance(answer, NotExecuted) and answer.final:
            await self._failed(call, "the call did not take place", context, resolution="query")
        elif await self._undone(call, tool, context, arguments):
            error = "its outcome was unknown, so it was undone: nothing has happened"
            await self._failed(call, error, context, resolution="compensate")
        else:
            await self.hand_to_people(call, "nobody can say whether it happened")

    async def hand_to_people(self, call: ToolInvocation, why: str) -> None:
        """Put a call into the manual queue (`seamstream tasks resolve`)."""
        fact = self._journal.fact("tool_manual", invocation=call, kind="side_effect", why=why)
        await self._journal.change_invocation(call.id, fact, status="unknown", manual=True, error=why)

    async def _unknown(self, call: ToolInvocation, context: ToolContext, because: str) -> ToolInvocation:
        if call.status == "unknown":
            return call
        fact = self._journal.fact(
            "tool_unknown",
            invocation=call,
            kind="side_effect",
            tool_name=call.tool_name,
            idempotency_key=context.idempotency_key,
            because=because,
        )
        return await self._journal.change_invocation(call.id, fact, status="unknown")

    async def _asked(
        self, call: ToolInvocation, tool: Tool, context: ToolContext, arguments: dict[str, Any]
    ) -> Executed | NotExecuted | None:
        if tool.query is None:
            return None
        answer: Any
        try:
            answer = await within(self._clock, tool.timeout_s, called(tool.query, context, **arguments))
            said = type(answer).__name__
        except Exception as error:
            answer, said = None, f"failed: {type(error).__name__}"
        await self._journal.tell(
            self._journal.fact("tool_queried", invocation=call, kind="side_effect", answer=said)
        )
        return answer if isinstance(answer, Executed | NotExecuted) else None

    async def _undone(
        self, call: ToolInvocation, tool: Tool, context: ToolContext, arguments: dict[str, Any]
    ) -> bool:
        if tool.compensate is None:
            return False
        outcome = "undone"
        try:
            await within(self._clock, tool.timeout_s, called(tool.compensate, context, **arguments))
        except Exception as error:
            outcome = f"failed: {type(error).__name__}"
        await self._journal.tell(
            self._journal.fact("tool_compensated", invocation=call, kind="side_effect", outcome=outcome)
        )
        return outcome == "undone"
