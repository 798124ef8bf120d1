"""The request of each step, from the records of the steps before it: the same one in every process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from ..errors import StoreError
from .conversations import Answered
from .hold import Waits
from .journal import TaskJournal
from .reading import load_steps
from .records import ResultRef, ToolInvocation

if TYPE_CHECKING:
    from .agent import Agent


class Requests:
    """The requests of one task."""

    def __init__(self, agent: Agent, journal: TaskJournal, tenant: str) -> None:
        self._agent = agent
        self._journal = journal
        self._tenant = tenant

    async def document(self, number: int) -> dict[str, Any]:
        """The request body of step `number`. Waits when a result that it needs cannot be had."""
        steps = await load_steps(self._journal.backend, self._tenant, self._journal.task.task_id)
        before = [step for step in steps if step.number < number]
        turns = [(step, [await self._answer(call) for call in step.tool_calls]) for step in before]
        base = orjson.loads(self._journal.task.request)
        return self._agent.model.conversation.request(base, list(self._agent.toolbox), turns)

    async def _answer(self, call: ToolInvocation) -> Answered:
        if call.status == "failed":
            return Answered(call, call.error or "the call failed", failed=True)
        if call.result_ref is None:
            return Answered(call, call.result or "null", failed=False)
        return Answered(call, await self._object(call.result_ref), failed=False)

    async def _object(self, ref: ResultRef) -> str:
        results = self._agent.results
        if results is None:
            raise Waits("waiting", "a tool's result is an object, and this worker has no result store")
        try:
            return (await results.get(self._tenant, ref, now_s=self._agent.clock.wall())).decode()
        except StoreError as error:
            raise Waits("waiting", str(error)) from error
