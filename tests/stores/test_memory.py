"""The in-memory store: the reference of what a checkpoint store does."""

from __future__ import annotations

import dataclasses

import pytest

from seamstream.stores.checkpoints import StreamCheckpoint, StreamCheckpointStore
from seamstream.stores.memory import InMemoryStreamCheckpointStore
from seamstream.testing.clock import FakeClock
from tests.recovery.made import EMPTY, snapshot


def checkpoint(
    text: str = "", *, key: str = "k", epoch: int = 1, restarts: int = 0, attempt: int = 1
) -> StreamCheckpoint:
    return StreamCheckpoint(
        key, "r", "anthropic", attempt, snapshot(text=text), epoch=epoch, restarts=restarts
    )


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def store(clock: FakeClock) -> InMemoryStreamCheckpointStore:
    return InMemoryStreamCheckpointStore(clock=clock, ttl_s=100.0)


async def test_it_is_a_store_and_needs_no_arguments() -> None:
    port: StreamCheckpointStore = InMemoryStreamCheckpointStore()
    await port.put(checkpoint("a"))
    assert await port.get("k") == checkpoint("a")


async def test_put_get_delete(store: InMemoryStreamCheckpointStore) -> None:
    assert await store.get("k") is None
    await store.put(checkpoint("a"))
    await store.put(checkpoint("b", key="other"))
    assert await store.get("k") == checkpoint("a")
    await store.delete("k")
    await store.delete("k")
    assert await store.get("k") is None
    assert await store.get("other") == checkpoint("b", key="other")


async def test_put_is_idempotent_and_replaces_its_equal(store: InMemoryStreamCheckpointStore) -> None:
    first, second = checkpoint("abc"), checkpoint("abc", attempt=2)
    await store.put(first)
    await store.put(first)
    assert len(store) == 1
    await store.put(second)
    assert await store.get("k") == second


@pytest.mark.parametrize(
    ("newer", "older"),
    [
        (checkpoint("abcd"), checkpoint("abc")),
        (checkpoint("a", restarts=1), checkpoint("abc")),
        (checkpoint("", epoch=2), checkpoint("abc", restarts=5)),
    ],
)
async def test_it_never_goes_back(
    store: InMemoryStreamCheckpointStore, newer: StreamCheckpoint, older: StreamCheckpoint
) -> None:
    await store.put(older)
    await store.put(newer)
    assert await store.get("k") == newer
    await store.put(older)
    assert await store.get("k") == newer


async def test_what_nobody_came_back_for_goes(store: InMemoryStreamCheckpointStore, clock: FakeClock) -> None:
    await store.put(checkpoint("a", key="old"))
    clock.tick(60.0)
    await store.put(checkpoint("a", key="young"))
    clock.tick(39.0)
    assert len(store) == 2
    clock.tick(1.0)
    assert await store.get("old") is None
    assert await store.get("young") is not None
    assert len(store) == 1


async def test_each_put_renews_the_time(store: InMemoryStreamCheckpointStore, clock: FakeClock) -> None:
    await store.put(checkpoint("a", key="one"))
    await store.put(checkpoint("a", key="two"))
    clock.tick(60.0)
    await store.put(checkpoint("ab", key="one"))
    clock.tick(60.0)
    assert await store.get("two") is None
    assert await store.get("one") == checkpoint("ab", key="one")


async def test_an_older_put_does_not_renew_it(store: InMemoryStreamCheckpointStore, clock: FakeClock) -> None:
    await store.put(checkpoint("ab"))
    clock.tick(60.0)
    await store.put(checkpoint("a"))
    clock.tick(40.0)
    assert await store.get("k") is None


async def test_records_are_kept_as_they_are(store: InMemoryStreamCheckpointStore) -> None:
    kept = dataclasses.replace(checkpoint("a"), snapshot=EMPTY)
    await store.put(kept)
    assert await store.get("k") is kept
