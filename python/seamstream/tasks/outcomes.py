"""How a tool call ends on record: with its result, in the step or as an object, or with why it failed."""

from __future__ import annotations

from typing import Any

from ..clock import Clock
from .journal import TaskJournal
from .plain import as_json, clean
from .records import ResultRef, ToolInvocation
from .results import ResultStore
from .tools import ToolContext, context_for


class Outcomes:
    """Writes the ends of the calls of the journal's current step."""

    def __init__(self, journal: TaskJournal, tenant: str, clock: Clock, results: ResultStore | None) -> None:
        self._journal = journal
        self._tenant = tenant
        self._clock = clock
        self._results = results

    async def succeeded(
        self, call: ToolInvocation, result: Any, context: ToolContext, *, resolution: str | None = None
    ) -> None:
        """The call has its result; a large one is kept as an object."""
        data = as_json(result)
        ref = await self._kept(call, data)
        fact = self._journal.fact(
            "tool_succeeded",
            invocation=call,
            kind="side_effect",
            tool_name=call.tool_name,
            result_bytes=len(data),
            result_ref=ref.path if ref is not None else None,
            resolution=resolution,
        )
        await self._journal.change_invocation(
            *(call.id, fact),
            files=context.files,
            sources=context.sources,
            status="succeeded",
            result=None if ref is not None else data.decode(),
            result_ref=ref,
            resolution=resolution,
            manual=False,
        )

    async def failed(
        self,
        call: ToolInvocation,
        error: str,
        context: ToolContext | None = None,
        *,
        resolution: str | None = None,
    ) -> None:
        """The call has failed, and the model is told why."""
        fact = self._journal.fact(
            "tool_failed",
            invocation=call,
            kind="side_effect",
            tool_name=call.tool_name,
            resolution=resolution,
        )
        left = context or self.context(call)
        await self._journal.change_invocation(
            *(call.id, fact),
            files=left.files,
            sources=left.sources,
            status="failed",
            error=clean(error),
            resolution=resolution,
            manual=False,
        )

    async def _kept(self, call: ToolInvocation, data: bytes) -> ResultRef | None:
        results = self._results
        if results is None or len(data) <= results.inline_bytes:
            return None
        task, now_s = self._journal.task.task_id, self._clock.wall()
        return await results.put(self._tenant, task, call.id, data, now_s=now_s)

    def context(self, call: ToolInvocation) -> ToolContext:
        """What the tool is told about the call."""
        return context_for(self._journal.task, call)
