"""One tenant can in no way reach what belongs to another: by the store, a worker, replay or references."""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import Any

import orjson
import pytest
from aiohttp import ClientSession
from obstore.store import MemoryStore

from seamstream import replay, stream
from seamstream.errors import StoreError
from seamstream.stores.backend import Backend, Job
from seamstream.stores.backend_checkpoints import BackendCheckpointStore
from seamstream.stores.url import open_store
from seamstream.tasks import (
    Agent,
    DurableStep,
    ModelTarget,
    ResultRef,
    ResultStore,
    Task,
    ToolContext,
    Worker,
    read_ledger,
    tool,
)
from seamstream.tasks.journal import TaskJournal
from seamstream.tasks.ledger import ledger_key
from seamstream.tasks.reading import QUEUE, load_steps, load_task, step_key, task_key
from seamstream.tasks.records import decode_step, encode
from seamstream.testing import FaultServer
from tests.tasks.playing import ASK, QuickClock, stage
from tests.tasks.scripted import ScriptedModel, calls, says

BIG = "x" * 2000


@tool(side_effect="none")
async def look(context: ToolContext) -> str:
    return BIG


def script(results: list[str]) -> Any:
    return says("Seen.") if results else calls(("look", {}))


@dataclass
class House:
    """A store with two tenants: `mine` has a task that is done, a run that is logged, and a job."""

    store: Backend
    mine: str
    other: str
    agent: Agent
    task: Task
    steps: list[DurableStep]
    job: Job
    results: ResultStore
    url: str
    session: ClientSession

    @property
    def ref(self) -> ResultRef:
        ref = self.steps[0].tool_calls[0].result_ref
        assert ref is not None
        return ref


@pytest.fixture
async def house(store_url: str) -> AsyncIterator[House]:
    unique = uuid.uuid4().hex
    mine, other = f"{unique}-a", f"{unique}-a.b"
    results = ResultStore(MemoryStore(), inline_bytes=1000)
    async with (
        open_store(store_url) as store,
        FaultServer(ScriptedModel(script)) as server,
        ClientSession() as session,
    ):
        url = server.url_for("openai-chat")
        model = ModelTarget(url, {"model": "test-model"})
        async with Agent(model, [look], store, results=results, clock=QuickClock()) as agent:
            task = await agent.submit(mine, ASK)
            await Worker(agent, [mine]).drain()
            checkpoints = BackendCheckpointStore(store, mine)
            body = {"model": "test-model", **ASK}
            options: dict[str, Any] = {"run_id": "r1", "store": checkpoints, "replayable": True}
            async with stream(session, url, json=body, **options) as run:
                async for _ in run:
                    pass
            await store.enqueue(mine, QUEUE, orjson.dumps(task.task_id))
            job = await store.claim(mine, QUEUE, lease_s=30.0)
            assert job is not None
            steps = await load_steps(store, mine, task.task_id)
            yield House(store, mine, other, agent, task, steps, job, results, url, session)


async def test_records_and_ledger_cannot_be_read_or_listed(house: House) -> None:
    task_id = house.task.task_id
    with pytest.raises(StoreError, match="there is no task"):
        await load_task(house.store, house.other, task_id)
    assert await load_steps(house.store, house.other, task_id) == []
    assert await read_ledger(house.store, house.other, task_id) == []
    assert [key async for key, _ in house.store.scan(house.other)] == []
    with pytest.raises(StoreError, match="there is no task"):
        await house.agent.answer(house.other, task_id)
    assert await house.agent.answer(house.mine, task_id) == "Seen."


async def test_they_cannot_be_altered(house: House) -> None:
    task_id, store, other = house.task.task_id, house.store, house.other
    before = await store.get(house.mine, task_key(task_id))
    entries = await store.read(house.mine, ledger_key(task_id))
    assert before is not None
    for attempt in (
        TaskJournal.take(store, other, task_id, owner="b", clock=QuickClock()),
        house.agent.cancel(other, task_id),
    ):
        with pytest.raises(StoreError, match="there is no task"):
            await attempt
    assert await store.compare_and_set(other, task_key(task_id), b"{}", revision=before.revision) is None
    assert not await store.delete(other, task_key(task_id))
    await store.append(other, ledger_key(task_id), [b"{}"])
    await store.drop(other, ledger_key(task_id))
    await store.put(other, ("cancel", task_id), b"cancel")
    assert await store.get(house.mine, task_key(task_id)) == before
    assert await store.read(house.mine, ledger_key(task_id)) == entries
    assert await store.get(house.mine, ("cancel", task_id)) is None


async def test_a_worker_of_another_tenant_claims_nothing(house: House) -> None:
    await house.agent.enqueue(house.mine, house.task.task_id)
    assert await house.store.claim(house.other, QUEUE, lease_s=30.0) is None
    assert await Worker(house.agent, [house.other]).drain() == []
    for call in (
        house.store.ack(house.other, QUEUE, house.job),
        house.store.extend(house.other, QUEUE, house.job, lease_s=60.0),
        house.store.release(house.other, QUEUE, house.job),
    ):
        assert not await call
    assert await house.store.ack(house.mine, QUEUE, house.job)


async def test_a_job_that_names_another_tenants_task_leads_nowhere(house: House) -> None:
    await house.store.enqueue(house.other, QUEUE, orjson.dumps(house.task.task_id))
    assert await Worker(house.agent, [house.other]).drain() == []


async def test_a_run_cannot_be_replayed(house: House) -> None:
    events = [event async for event in replay(house.store, house.mine, "r1")]
    assert len(events) > 2
    seen: list[Any] = []

    async def listen() -> None:
        async for event in replay(house.store, house.other, "r1"):
            seen.append(event)

    with contextlib.suppress(TimeoutError):  # it waits for a run of that name
        await asyncio.wait_for(listen(), 0.2)
    assert seen == []


async def test_a_result_cannot_be_read_by_its_reference(house: House) -> None:
    now_s = house.agent.clock.wall()
    assert await house.results.get(house.mine, house.ref, now_s=now_s) == orjson.dumps(BIG)
    for path in (house.ref.path, f"{house.other}/../{house.ref.path}"):
        with pytest.raises(StoreError, match="not of this tenant"):
            await house.results.get(house.other, replace(house.ref, path=path), now_s=now_s)


async def test_a_reference_that_was_copied_into_another_tenants_step_is_refused(house: House) -> None:
    """Even who could write the other tenant's records gets no further than a task that waits."""
    agent, store = house.agent, house.store
    task = await agent.submit(house.other, ASK)
    record = await store.get(house.mine, step_key(house.task.task_id, 1))
    assert record is not None
    stolen = replace(decode_step(record.value), task_id=task.task_id, epoch=0, unlogged=())
    await store.put(house.other, step_key(task.task_id, 1), encode(stolen))
    [envelope] = await Worker(agent, [house.other]).drain()
    assert envelope.state == "waiting"
    assert "not of this tenant" in (await load_task(store, house.other, task.task_id)).why


async def test_a_checkpoint_is_another_tenants_to_get_or_delete(house: House) -> None:
    mine = BackendCheckpointStore(house.store, house.mine)
    other = BackendCheckpointStore(house.store, house.other)
    body = {"model": "test-model", **ASK}
    with contextlib.suppress(KeyError):
        async with stream(house.session, house.url, json=body, run_id="r2", store=mine) as run:
            async for _ in run:
                pass
            raise KeyError  # so it is not committed
    assert await mine.get("r2") is not None
    assert await other.get("r2") is None
    await other.delete("r2")
    assert await mine.get("r2") is not None


async def test_tasks_of_one_id_share_no_key() -> None:
    """Not even one that was forgotten: the service remembers keys for longer than the store."""
    keys: list[str] = []

    @tool(side_effect="idempotent", allow_manual=True)
    async def book(context: ToolContext) -> None:
        keys.append(context.idempotency_key)

    script = lambda results: says("Done.") if results else calls(("book", {}))  # noqa: E731
    async with stage(script, [book]) as played:
        for tenant in ("acme", "other", "acme"):
            await played.agent.submit(tenant, ASK, task_id="order-1")
            [envelope] = await Worker(played.agent, [tenant]).drain()
            assert envelope.state == "succeeded"
            if tenant == "acme":
                await played.agent.forget(tenant, "order-1")
    assert len(set(keys)) == 3
    assert {key.rpartition(":")[0] for key in keys} == {"order-1:1-1"}
