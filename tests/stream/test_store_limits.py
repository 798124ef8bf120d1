"""Stores that never answer, and owners that were replaced: the stream goes on, unless that is an error."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import Any

import pytest

from seamstream import (
    BackendCheckpointStore,
    Finish,
    RecoveryPolicy,
    StaleOwner,
    StoreError,
    StreamCheckpoint,
)
from seamstream.observe import Notice
from seamstream.stores.memory_backend import MemoryBackend
from seamstream.testing import FakeClock
from tests.middleware.asking import turns_of_the_loop
from tests.stream.conftest import TEXT

LIMIT_S = 3.0
FAILS = RecoveryPolicy(on_store_error="fail", store_s=LIMIT_S)
GOES_ON = RecoveryPolicy(store_s=LIMIT_S, checkpoint_every_s=0.0)


class Silent:
    """A store that answers nothing. From `answers` on it does, and holds nothing."""

    def __init__(self, answers: frozenset[str] = frozenset()) -> None:
        self.answers = answers
        self.asked: list[str] = []
        self.lets_go = asyncio.Event()

    async def put(self, _checkpoint: StreamCheckpoint) -> None:
        await self._answer("put")

    async def get(self, _key: str) -> StreamCheckpoint | None:
        await self._answer("get")

    async def delete(self, _key: str) -> None:
        await self._answer("delete")

    async def _answer(self, what: str) -> None:
        self.asked.append(what)
        if what not in self.answers:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                await self.lets_go.wait()  # some drivers wait for their server even then


async def at_most(seconds: float, clock: FakeClock, store: Silent, work: Any) -> Any:
    """What the work gives; it may take so long on that clock."""
    task, passed = asyncio.ensure_future(work), 0.0
    try:
        while not task.done():
            await turns_of_the_loop()
            if not task.done() and clock.pending and clock.pending[0] <= LIMIT_S:
                passed += clock.pending[0]
                assert passed <= seconds, "the store holds up the stream"
                await clock.advance(clock.pending[0])
        return task.result()
    finally:
        store.lets_go.set()


class Notices:
    def __init__(self) -> None:
        self.kinds: list[str] = []

    def record(self, record: Any) -> None:
        if isinstance(record, Notice):
            self.kinds.append(record.kind)


async def test_a_store_that_never_answers_holds_up_no_stream(place: Any) -> None:
    """Once when the run begins, and once when it is committed; never between two events."""
    clock, store, told = FakeClock(), Silent(), Notices()
    async with place() as here:
        asking = here.events(store=store, clock=clock, policy=GOES_ON, sinks=[told])
        run, events = await at_most(2 * LIMIT_S, clock, store, asking)
    assert (run.turn.text, type(events[-1])) == (TEXT, Finish)
    assert store.asked[:2] == ["get", "put"]
    assert set(told.kinds) == {"store_down"}


async def test_nor_one_that_answers_only_the_first_question(place: Any) -> None:
    clock, store = FakeClock(), Silent(frozenset({"get"}))
    async with place() as here:
        run, _ = await at_most(LIMIT_S, clock, store, here.events(store=store, clock=clock, policy=GOES_ON))
    assert run.turn.text == TEXT


@pytest.mark.parametrize("answers", [set(), {"get"}, {"get", "put"}], ids=["get", "put", "delete"])
async def test_unless_it_must_not_fail(place: Any, answers: set[str]) -> None:
    clock, store = FakeClock(), Silent(frozenset(answers))
    async with place() as here:
        with pytest.raises(StoreError, match=r"(no answer within|not done after) 3 s"):
            await at_most(LIMIT_S, clock, store, here.events(store=store, clock=clock, policy=FAILS))


async def test_an_owner_that_was_replaced_stops_writing(place: Any) -> None:
    """Its reader gets the answer; the checkpoint is the new owner's, and stays."""
    backend, told = MemoryBackend(), Notices()
    mine, theirs = BackendCheckpointStore(backend, "t"), BackendCheckpointStore(backend, "t")
    policy = RecoveryPolicy(checkpoint_every_s=0.0)
    async with place() as here, here.ask(store=mine, run_id="r", policy=policy, sinks=[told]) as run:
        taken = await _replace_the_owner(run, theirs)
        async for _ in run:
            await asyncio.sleep(0)
    assert run.turn.text == TEXT
    assert await theirs.get("r") == taken
    assert told.kinds == ["stale_owner"]


async def test_and_ends_if_its_store_must_not_fail(place: Any) -> None:
    backend = MemoryBackend()
    mine, theirs = BackendCheckpointStore(backend, "t"), BackendCheckpointStore(backend, "t")
    policy = RecoveryPolicy(checkpoint_every_s=0.0, on_store_error="fail")
    async with place() as here:
        with pytest.raises(StaleOwner):
            await _read_all(here.ask(store=mine, run_id="r", policy=policy), theirs)
    assert await theirs.get("r") is not None


async def _read_all(run: Any, theirs: BackendCheckpointStore) -> None:
    async with run:
        await _replace_the_owner(run, theirs)
        async for _ in run:
            pass


async def _replace_the_owner(run: Any, theirs: BackendCheckpointStore) -> StreamCheckpoint:
    """Once the run is stored, another process takes it."""
    while (stored := await theirs.get("r")) is None:
        await anext(run)
        await asyncio.sleep(0)
    return await theirs.claim(dataclasses.replace(stored, epoch=stored.epoch + 1))
