"""A process dies at each of its writes, on either side of it, and another one goes on with the task."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Literal

import pytest

from seamstream.stores.backend import Backend
from seamstream.stores.memory_backend import MemoryBackend
from seamstream.tasks import Agent, Entry, ModelTarget, Worker, read_ledger
from seamstream.tasks.ledger import chain_problems
from seamstream.tasks.open_attempts import lost_attempts
from seamstream.testing import FakeClock, FaultServer
from seamstream.testing.answer import Answer
from tests.tasks.dying import Died, DyingBackend
from tests.tasks.scripted import ScriptedModel, calls, says
from tests.tasks.service import Service, booking_tool

LEASE_S = 30.0
ASK = {"messages": [{"role": "user", "content": "Book two rooms."}]}
BOOKED = "Both rooms are booked."
NOT_BOOKED = "I could not book both rooms."


def script(results: list[str]) -> Answer:
    if not results:
        return calls(("book", {"hotel": "Ritz"}), text="First the Ritz. ")
    if len(results) == 1:
        return calls(("book", {"hotel": "Savoy"}), text="Now the Savoy. ")
    return says(BOOKED if all("booked" in result for result in results) else NOT_BOOKED)


async def work_once(store: Backend, model: FaultServer, service: Service) -> None:
    """One process that works on what is due."""
    target = ModelTarget(model.url_for("openai-chat"), {"model": "test-model"})
    async with Agent(target, [booking_tool(service.url)], store) as agent:
        await Worker(agent, ["acme"], lease_s=LEASE_S).drain()


async def submit(store: Backend) -> str:
    target = ModelTarget("http://127.0.0.1:1/v1/chat/completions", {"model": "test-model"})
    async with Agent(target, [], store) as agent:
        return (await agent.submit("acme", ASK)).task_id


async def count_writes() -> int:
    clock = FakeClock()
    store = DyingBackend(MemoryBackend(clock=clock), 0, "before")
    async with FaultServer(ScriptedModel(script)) as model, Service() as service:
        await submit(store)
        await work_once(store, model, service)
    return store.writes


def check(entries: list[Entry], service: Service, *, died: bool) -> None:
    """What must hold however the work went."""
    assert chain_problems(entries) == []
    assert lost_attempts(entries) == []
    assert service.repeated == []
    keys = [key for action, key in service.calls if action == "book"]
    assert len(keys) == len(set(keys)), "a write was sent twice"
    events = [entry.event for entry in entries]
    assert events.count("workflow_succeeded") == 1
    assert events[-1] in ("workflow_succeeded", "task_taken_over")
    unknown = [entry.invocation_id for entry in entries if entry.event == "tool_unknown"]
    assert died or not unknown
    ends = [entry for entry in entries if entry.event in ("tool_succeeded", "tool_failed")]
    assert [end.invocation_id for end in ends] == ["1-1", "2-1"]
    given = {e.invocation_id: e.details["idempotency_key"] for e in entries if e.event == "tool_started"}
    for end in ends:
        key = given[end.invocation_id]
        assert (key in service.booked) == (end.event == "tool_succeeded")
    assert len({entry.attempt for entry in entries if entry.event == "attempt_started"}) <= 3 + died


@pytest.mark.parametrize("moment", ["before", "after"])
async def test_whenever_a_process_dies_the_next_one_ends_its_task(
    moment: Literal["before", "after"],
) -> None:
    writes = await count_writes()
    asyncio.get_running_loop().set_exception_handler(lambda *_: None)  # tasks of the dead die too
    assert writes > 40
    outcomes: dict[str, int] = {}
    async with FaultServer(ScriptedModel(script)) as model:
        for at in range(4, writes + 1):  # the first three make the task
            clock = FakeClock()
            store = MemoryBackend(clock=clock)
            async with Service() as service:
                task_id = await submit(store)
                with contextlib.suppress(Died, asyncio.CancelledError, BaseExceptionGroup):
                    await work_once(DyingBackend(store, at - 3, moment), model, service)
                await clock.advance(LEASE_S + 1)
                await work_once(store, model, service)
                entries = await read_ledger(store, "acme", task_id)
                check(entries, service, died=True)
                target = ModelTarget(model.url_for("openai-chat"), {"model": "test-model"})
                answer = await Agent(target, [], store).answer("acme", task_id)
                assert answer == (BOOKED if len(service.booked) == 2 else NOT_BOOKED)
                outcomes[answer] = outcomes.get(answer, 0) + 1
    print(f"{moment}: {outcomes}")
    assert outcomes[BOOKED] > 30
