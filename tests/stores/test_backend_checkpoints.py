"""Checkpoints on the five backends: one owner at a time, nothing shrinks, and nothing stays behind."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from seamstream import BackendCheckpointStore, StaleOwner, StoreError, StreamCheckpoint
from seamstream.clock import SystemClock
from seamstream.stores import Backend, CheckpointDelta, StreamCheckpointStore, open_store
from seamstream.stores.appendable import AppendableCheckpointStore
from seamstream.stores.memory_backend import MemoryBackend
from seamstream.testing import FakeClock
from tests.recovery.made import snapshot

RACES = 25


def checkpoint(text: str, *, epoch: int = 1, restarts: int = 0, key: str = "k") -> StreamCheckpoint:
    base = b'{"model":"m"}'
    return StreamCheckpoint(
        key, "r", "anthropic", 1, snapshot(text=text), epoch=epoch, restarts=restarts, base_request=base
    )


async def grow(store: BackendCheckpointStore, before: StreamCheckpoint, after: StreamCheckpoint) -> None:
    delta = CheckpointDelta.between(before, after)
    await store.append(after.key, after.epoch, before.characters, delta)


@asynccontextmanager
async def two_stores(
    url: str, **options: object
) -> AsyncIterator[tuple[BackendCheckpointStore, BackendCheckpointStore]]:
    """Two processes' views of one tenant."""
    tenant = SystemClock().uuid()
    async with open_store(url) as one, open_store(url) as other:
        backends: tuple[Backend, Backend] = (one, one if url == "memory:" else other)
        first, second = (BackendCheckpointStore(backend, tenant, **options) for backend in backends)  # type: ignore[arg-type]
        yield first, second


async def test_it_keeps_the_protocol_of_three_methods(any_store_url: str) -> None:
    async with two_stores(any_store_url) as (first, second):
        port: StreamCheckpointStore = first
        assert isinstance(first, AppendableCheckpointStore)
        assert await port.get("k") is None
        await port.put(checkpoint("Salt"))
        await port.put(checkpoint("Salt comes"))
        await port.put(checkpoint("Sa"))  # of lesser order
        assert await second.get("k") == checkpoint("Salt comes")
        await port.put(checkpoint("", restarts=1))
        assert await second.get("k") == checkpoint("", restarts=1)
        await port.delete("k")
        await port.delete("k")
        assert await second.get("k") is None
        assert [key async for key, _ in first.backend.scan(first.tenant)] == []


async def test_an_answer_grows_and_is_read_whole(any_store_url: str) -> None:
    async with two_stores(any_store_url) as (first, second):
        before = checkpoint("")
        assert await first.claim(before) == before
        for number in range(30):
            after = checkpoint(before.snapshot.text + f"{number} 北 ")
            await grow(first, before, after)
            before = after
        assert await second.get("k") == before
        with pytest.raises(StoreError, match="has 140 characters, not 3"):
            await first.append("k", 1, 3, CheckpointDelta.between(before, before))
        with pytest.raises(StoreError, match="cannot shrink"):
            await first.append("k", 1, 140, CheckpointDelta.between(before, checkpoint("0")))
        assert await second.get("k") == before


async def test_an_older_owner_is_told(any_store_url: str) -> None:
    """What it had appended before belongs to the run; after that it writes and deletes nothing."""
    async with two_stores(any_store_url) as (old, new):
        start, more = checkpoint("Salt"), checkpoint("Salt comes")
        await old.claim(start)
        await grow(old, start, more)
        taken = await new.claim(checkpoint("", epoch=2))
        assert taken == dataclasses.replace(more, epoch=2)
        later = checkpoint("Salt comes late")
        for refused in (
            grow(old, more, later), old.put(later), old.put(checkpoint("Salt", restarts=7)), old.claim(start)
        ):  # fmt: skip
            with pytest.raises(StaleOwner):
                await refused
        await grow(new, taken, checkpoint("Salt comes from rocks", epoch=2))
        assert await old.get("k") == checkpoint("Salt comes from rocks", epoch=2)


async def test_an_old_owner_deletes_nothing_of_the_new_one(any_store_url: str) -> None:
    async with two_stores(any_store_url) as (old, new):
        await old.claim(checkpoint("Salt"))
        await new.claim(checkpoint("", epoch=2))
        with pytest.raises(StaleOwner):
            await old.delete("k")
        assert await new.get("k") == checkpoint("Salt", epoch=2)
        await new.delete("k")
        assert await new.get("k") is None


@pytest.mark.parametrize("epoch", [1, 2], ids=["begin", "take over"])
async def test_of_two_who_claim_one_wins(any_store_url: str, epoch: int) -> None:
    async with two_stores(any_store_url) as stores:
        for number in range(RACES):
            key = f"run-{number}"
            if epoch == 2:
                await stores[number % 2].claim(checkpoint("Salt", key=key))
            claims = [store.claim(checkpoint("Salt", key=key, epoch=epoch)) for store in stores]
            results = await asyncio.gather(*claims, return_exceptions=True)
            losers = [result for result in results if isinstance(result, BaseException)]
            assert [type(loser) for loser in losers] == [StaleOwner], results
            winner = stores[0 if results[1] in losers else 1]
            await grow(winner, checkpoint("Salt"), checkpoint("Salt!", key=key, epoch=epoch))


async def test_an_owner_that_writes_while_it_is_replaced_loses_nothing(any_store_url: str) -> None:
    """Every append that was acknowledged is in what the next owner gets, or comes after it and is refused."""
    async with two_stores(any_store_url) as (old, new):
        for number in range(RACES):
            before = checkpoint("", key=f"run-{number}")
            await old.claim(before)
            writing = asyncio.create_task(_write_until_refused(old, before))
            for _ in range(number % 7):
                await asyncio.sleep(0)
            taken = await new.claim(dataclasses.replace(before, epoch=2))
            assert taken.snapshot.text == await writing


async def _write_until_refused(store: BackendCheckpointStore, before: StreamCheckpoint) -> str:
    for number in range(10_000):
        after = dataclasses.replace(before, snapshot=snapshot(text=before.snapshot.text + f"{number} "))
        try:
            await grow(store, before, after)
        except StaleOwner:
            return before.snapshot.text
        before = after
        await asyncio.sleep(0)  # a store in memory never lets others run
    raise AssertionError("nobody refused it")


async def test_whose_write_failed_may_claim_its_epoch_again(any_store_url: str) -> None:
    async with two_stores(any_store_url) as (store, other):
        start, more = checkpoint("Salt"), checkpoint("Salt comes")
        await store.claim(start)
        with pytest.raises(StaleOwner):
            await store.claim(start)  # the same process may hold a run only once
        with pytest.raises(StoreError):
            await store.append("k", 1, 0, CheckpointDelta.between(start, checkpoint("")))
        task = asyncio.ensure_future(grow(store, start, more))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait({task})
        if task.cancelled():
            assert (await store.claim(start)).snapshot.text in ("Salt", "Salt comes")
        with pytest.raises(StaleOwner):
            await other.claim(start)


async def test_another_process_needs_no_memory_of_the_first(any_store_url: str) -> None:
    """An owner whose place in the log was forgotten finds it again."""
    async with two_stores(any_store_url) as (store, _):
        start, more = checkpoint("Salt"), checkpoint("Salt comes")
        await store.claim(start)
        store._runs.clear()
        await grow(store, start, more)
        assert await store.get("k") == more


class Reversing:
    """A cipher that is one only in form; it refuses what it did not make."""

    def encrypt(self, data: bytes) -> bytes:
        return b"sealed:" + data[::-1]

    def decrypt(self, data: bytes) -> bytes:
        if not data.startswith(b"sealed:"):
            raise ValueError("not sealed")
        return data.removeprefix(b"sealed:")[::-1]


async def test_with_a_cipher_no_content_is_stored_in_clear(any_store_url: str) -> None:
    async with two_stores(any_store_url, cipher=Reversing()) as (store, other):
        await store.claim(checkpoint("Salt"))
        await grow(store, checkpoint("Salt"), checkpoint("Salt comes"))
        [(head, record)] = [found async for found in store.backend.scan(store.tenant)]
        values = await store.backend.read(store.tenant, (*head, _log_of(record.value)))
        stored = [record.value, *(entry.value for entry in values)]
        assert not [value for value in stored if b"Salt" in value or b'"model":"m"' in value]
        assert await other.get("k") == checkpoint("Salt comes")
        plain = BackendCheckpointStore(store.backend, store.tenant)
        with pytest.raises(StoreError, match="cannot be read"):
            await plain.get("k")


def _log_of(head: bytes) -> str:
    return head.split(b'"log":"')[1].split(b'"')[0].decode()


async def test_tenants_do_not_meet(any_store_url: str) -> None:
    async with two_stores(any_store_url) as (store, _):
        await store.claim(checkpoint("Salt"))
        stranger = BackendCheckpointStore(store.backend, store.tenant + ".")
        assert await stranger.get("k") is None
        await stranger.delete("k")
        await stranger.claim(checkpoint("Other"))
        assert await store.get("k") == checkpoint("Salt")


async def test_what_nobody_comes_back_for_expires() -> None:
    clock = FakeClock()
    store = BackendCheckpointStore(MemoryBackend(clock=clock), "t", ttl_s=100.0, clock=clock)
    before = checkpoint("")
    await store.claim(before)
    for number in range(10):  # its owner keeps head and log alive
        clock.tick(45.0)
        after = checkpoint(before.snapshot.text + str(number))
        await grow(store, before, after)
        before = after
        assert await store.get("k") == before
    clock.tick(100.1)
    assert await store.get("k") is None
    with pytest.raises(StaleOwner):
        await grow(store, before, checkpoint("0123456789!"))
    assert await store.claim(checkpoint("Anew")) == checkpoint("Anew")
