"""Checkpoints of a typed run: put on the way, taken over by the next one, deleted once the turn is safe."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from seamstream import (
    BackoffPolicy,
    ConfigurationError,
    Finish,
    InMemoryStreamCheckpointStore,
    RecoveryPolicy,
    StoreError,
    StreamCheckpoint,
    StreamCutError,
    TextDelta,
    ToolCallReady,
)
from seamstream.testing import Delivery, FakeClock, Fault
from tests.stream.conftest import QUESTION, TEXT

AT_ONCE = RecoveryPolicy(backoff=BackoffPolicy(first_s=0.0, max_s=0.0))


class Down:
    """A store that is not there."""

    async def put(self, checkpoint: StreamCheckpoint) -> None:
        raise ConnectionError("no route to the store")

    async def get(self, key: str) -> StreamCheckpoint | None:
        raise ConnectionError("no route to the store")

    async def delete(self, key: str) -> None:
        raise ConnectionError("no route to the store")


async def _die_after(run: Any, texts: int, clock: FakeClock) -> str:
    """Read so far, while time passes; then the process is gone."""
    pieces: list[str] = []
    with pytest.raises(RuntimeError, match="the process dies"):
        await _read_and_die(run, texts, clock, pieces)
    return "".join(pieces)


async def _read_and_die(run: Any, texts: int, clock: FakeClock, pieces: list[str]) -> None:
    async with run:
        async for event in run:
            clock.tick(2.0)
            pieces += [event.text] if isinstance(event, TextDelta) else []
            if len(pieces) == texts:
                raise RuntimeError("the process dies")


async def _read_and_fail(run: Any) -> None:
    async with run:
        async for _ in run:
            await asyncio.sleep(0)
        raise RuntimeError("disk full")


async def test_a_committed_run_leaves_nothing(place: Any) -> None:
    store = InMemoryStreamCheckpointStore()
    async with place() as here:
        await here.events(store=store)
    assert len(store) == 0


async def test_another_reader_gets_the_whole_answer_from_the_start(place: Any) -> None:
    clock, store = FakeClock(), InMemoryStreamCheckpointStore()
    async with place([Fault.stall(after_events=14)]) as here:
        shown = await _die_after(here.ask(store=store, run_id="job-7", clock=clock), 10, clock)
        await here.requests[0].over()
        assert (len(store), TEXT.startswith(shown)) == (1, True)
        run, events = await here.events(store=store, run_id="job-7", policy=AT_ONCE)
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == TEXT
    assert [event.arguments for event in events if isinstance(event, ToolCallReady)] == ['{"where": "north"}']
    assert type(events[-1]) is Finish
    assert run.turn.outcome.causes == ("ResumedFromCheckpoint",)
    assert [record.number for record in run.turn.attempts] == [1, 2]
    assert here.requests[1].body["messages"][1]["role"] == "assistant"
    assert len(store) == 0


async def test_a_checkpoint_holds_no_credentials(place: Any) -> None:
    clock, store = FakeClock(), InMemoryStreamCheckpointStore()
    async with place([Fault.stall(after_events=14)]) as here:
        headers = {"Authorization": "Bearer secret-1", "x-api-key": "secret-2"}
        await _die_after(here.ask(store=store, run_id="r", clock=clock, headers=headers), 10, clock)
    checkpoint = await store.get("r")
    assert checkpoint is not None
    assert b"secret" not in checkpoint.to_json()


async def test_it_is_put_by_time_and_when_a_call_is_whole(place: Any) -> None:
    class Counting(InMemoryStreamCheckpointStore):
        puts: list[StreamCheckpoint]

        async def put(self, checkpoint: StreamCheckpoint) -> None:
            self.puts.append(checkpoint)
            await super().put(checkpoint)

    store, clock = Counting(), FakeClock()
    store.puts = []
    async with place() as here, here.ask(store=store, clock=clock) as run:
        async for _ in run:
            clock.tick(0.001)
            await asyncio.sleep(0)
    assert [len(put.snapshot.completed_tool_calls) for put in store.puts] == [1]
    store.puts = []
    often = RecoveryPolicy(checkpoint_every_s=1.0)
    slowly = {"delivery": Delivery(pause_s=1.0), "clock": clock}
    async with place(server=slowly) as here:
        reading = asyncio.ensure_future(here.events(store=store, clock=clock, policy=often))
        while not reading.done():
            await clock.advance(0.5)
    assert len(store.puts) > 1
    orders = [put.order for put in store.puts]
    assert orders == sorted(orders)


async def test_a_failure_keeps_the_checkpoint_and_abort_ends_it(place: Any) -> None:
    store = InMemoryStreamCheckpointStore()
    never = RecoveryPolicy(max_recoveries=0)
    async with place(lambda _: Fault.reset(after_events=9)) as here:
        with pytest.raises(StreamCutError):
            await here.events(store=store, run_id="r", policy=never)
        await asyncio.sleep(0)
        assert len(store) == 1
        async with here.ask(store=store, run_id="r", policy=never) as run:
            await anext(run)
            await run.abort()
            assert [event async for event in run] == []
    assert len(store) == 0
    assert run.turn.outcome.kind == "cancelled"


async def test_commit_by_hand(place: Any) -> None:
    store = InMemoryStreamCheckpointStore()
    async with place() as here, here.ask(store=store, run_id="r") as run:
        with pytest.raises(RuntimeError):
            await run.commit()
        async for _ in run:
            pass
        await run.commit()
        assert len(store) == 0


async def test_an_exception_behind_the_finish_keeps_it_too(place: Any) -> None:
    """The reader had everything but could not put it away: it may come back for it."""
    store = InMemoryStreamCheckpointStore()
    async with place() as here:
        with pytest.raises(RuntimeError, match="disk full"):
            await _read_and_fail(here.ask(store=store, run_id="r"))
        assert len(store) == 1
        again, events = await here.events(store=store, run_id="r", policy=AT_ONCE)
    assert again.turn.text == TEXT
    assert type(events[-1]) is Finish


async def test_a_run_id_belongs_to_one_request(place: Any) -> None:
    clock, store = FakeClock(), InMemoryStreamCheckpointStore()
    other = {**QUESTION, "messages": [{"role": "user", "content": "And south?"}]}
    async with place([Fault.stall(after_events=14)]) as here:
        await _die_after(here.ask(store=store, run_id="r", clock=clock), 10, clock)
        with pytest.raises(ConfigurationError):
            async with here.ask(store=store, run_id="r", json=other):
                pass


async def test_a_store_that_is_down_stops_no_stream(place: Any) -> None:
    async with place([Fault.reset(after_events=9)]) as here:
        run, _ = await here.events(store=Down(), policy=AT_ONCE)
    assert run.turn.text == TEXT


async def test_unless_it_must_not_fail(place: Any) -> None:
    async with place() as here:
        with pytest.raises(StoreError):
            await here.events(store=Down(), policy=RecoveryPolicy(on_store_error="fail"))
