"""An agent against a scripted model on a real socket, with what a test wants to look at afterwards."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from seamstream.clock import SystemClock
from seamstream.recovery.continuation.facts import Dialect
from seamstream.recovery.continuation.profile import Profile
from seamstream.recovery.policy import RecoveryPolicy
from seamstream.stores.backend import Backend
from seamstream.stores.memory_backend import MemoryBackend
from seamstream.tasks import (
    Agent,
    DurableStep,
    Entry,
    ModelTarget,
    Price,
    Tool,
    ToolContext,
    Worker,
    read_ledger,
    tool,
)
from seamstream.tasks.reading import load_steps
from seamstream.testing import FaultServer
from seamstream.testing.answer import Answer
from seamstream.testing.faults import Fault
from tests.tasks.scripted import ScriptedModel

TENANT = "acme"
ASK = {"messages": [{"role": "user", "content": "Go."}]}
PRICES = {"test-model": Price(input=1.0, output=2.0)}


class QuickClock(SystemClock):
    """Does not wait: what is polled is polled at once."""

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(min(seconds, 0.005))


async def until(condition: Callable[[], bool]) -> None:
    """Wait for something that another task or process does."""
    while not condition():  # noqa: ASYNC110
        await asyncio.sleep(0.005)


class Gate:
    """A tool that arrives, and ends when it may."""

    def __init__(self, name: str, *, writes: bool = True) -> None:
        self.arrived, self.may_end = asyncio.Event(), asyncio.Event()
        declared: Any = (
            {"side_effect": "idempotent", "allow_manual": True} if writes else {"side_effect": "none"}
        )
        self.tool = tool(name=name, **declared)(self._run)

    async def _run(self, context: ToolContext) -> str:
        self.arrived.set()
        await self.may_end.wait()
        return "ended"


@dataclass
class Stage:
    """One agent and its surroundings."""

    agent: Agent
    server: FaultServer
    store: Backend

    def worker(self, **options: Any) -> Worker:
        return Worker(self.agent, [TENANT], **options)

    async def entries(self, task_id: str) -> list[Entry]:
        return await read_ledger(self.store, TENANT, task_id)

    async def steps(self, task_id: str) -> list[DurableStep]:
        return await load_steps(self.store, TENANT, task_id)


@asynccontextmanager
async def stage(
    script: Callable[[list[str]], Answer],
    tools: Iterable[Tool] = (),
    faults: Iterable[Fault] = (),
    *,
    dialect: Dialect = "openai-chat",
    policy: RecoveryPolicy | None = None,
    store: Backend | None = None,
    credentials: Any = None,
    request: dict[str, Any] | None = None,
    profiles: tuple[Profile, ...] = (),
    server: dict[str, Any] | None = None,
    **options: Any,
) -> AsyncIterator[Stage]:
    """An agent whose model plays `script` under `faults`."""
    store = store if store is not None else MemoryBackend()
    async with FaultServer(ScriptedModel(script), list(faults), **(server or {})) as playing:
        model = ModelTarget(
            playing.url_for(dialect),
            {"model": "test-model", **(request or {})},
            credentials=credentials if credentials is not None else {},
            policy=policy or RecoveryPolicy.agent(),
            profiles=profiles,
            prices=PRICES,
        )
        options.setdefault("clock", QuickClock())
        async with Agent(model, tools, store, **options) as agent:
            yield Stage(agent, playing, store)
