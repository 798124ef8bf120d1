"""Tasks in the states in which people have something to do."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from seamstream.clock import SystemClock
from seamstream.stores.backend import Backend
from seamstream.tasks import Agent, Entry, ModelTarget, Task, ToolContext, Worker, read_ledger
from seamstream.tasks.invoking import Approval
from seamstream.tasks.reading import load_steps, load_task
from seamstream.tasks.records import ToolInvocation
from seamstream.testing import FaultServer
from seamstream.testing.answer import Answer
from tests.tasks.scripted import ScriptedModel, calls, says
from tests.tasks.service import Service, booking_tool

ASK = {"messages": [{"role": "user", "content": "Book a room."}]}
CLOCK = SystemClock()
BOOKED, NOT_BOOKED = "The room is booked.", "No room was booked."
NO_WAY_BACK: dict[str, Any] = {
    "side_effect": "idempotent",
    "query": None,
    "compensate": None,
    "allow_manual": True,
}
"""A write that only people can decide about."""


def one_room(results: list[str]) -> Answer:
    if not results:
        return calls(("book", {"hotel": "Ritz"}))
    taken = '"booked"' in results[0]
    return says(BOOKED if taken else NOT_BOOKED)


async def wait_for_people(context: ToolContext, name: str, arguments: dict[str, Any]) -> Approval:
    return "wait"


@dataclass
class Office:
    """One tenant's store, model, service and agent."""

    store: Backend
    agent: Agent
    service: Service

    async def work(self) -> list[str]:
        """Work on all that is due; the states in which it ends."""
        return [envelope.state for envelope in await Worker(self.agent, ["acme"]).drain()]

    async def submit(self) -> str:
        return (await self.agent.submit("acme", ASK)).task_id

    async def task(self, task_id: str) -> Task:
        return await load_task(self.store, "acme", task_id)

    async def call(self, task_id: str) -> ToolInvocation:
        return (await load_steps(self.store, "acme", task_id))[0].tool_calls[0]

    async def told(self, task_id: str) -> list[Entry]:
        return await read_ledger(self.store, "acme", task_id)

    async def books(self) -> int:
        return sum(action == "book" for action, _ in self.service.calls)


@asynccontextmanager
async def office(
    store: Backend, *, loses: frozenset[int] = frozenset(), approval: bool = False, **tool: Any
) -> AsyncIterator[Office]:
    """`loses`: calls of the service whose answer is lost; `approval`: people are asked before each call."""
    async with FaultServer(ScriptedModel(one_room)) as model, Service(loses=set(loses)) as service:
        target = ModelTarget(model.url_for("openai-chat"), {"model": "m"})
        approve = wait_for_people if approval else None
        async with Agent(target, [booking_tool(service.url, **tool)], store, approve=approve) as agent:
            yield Office(store, agent, service)
