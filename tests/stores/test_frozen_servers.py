"""Servers that are stopped, and peers that take a connection and say nothing: every call ends in time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Iterator
from contextlib import aclosing

import pytest

from seamstream.errors import StoreError
from seamstream.stores import open_store
from seamstream.stores.backend import Backend, Job
from tests.stores.servers import Server
from tests.stores.test_restarts import KINDS, is_back, started

TIMEOUT_S = 1.0
WAIT_S = 0.5
SLACK_S = 1.5
"""For a busy machine, and for a follower that was just about to look."""


@pytest.fixture(params=sorted(KINDS))
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    yield from started(KINDS[request.param]())


async def test_every_call_to_a_frozen_server_ends_in_time(server: Server) -> None:
    async with open_store(server.url, timeout_s=TIMEOUT_S) as store:
        job = await _prepared(store)
        follower = asyncio.create_task(_followed(store))
        waiting = asyncio.create_task(store.claim("t", "empty", lease_s=30.0, wait_s=3600.0))
        await asyncio.wait({follower, waiting}, timeout=0.2)
        waiting.cancel()
        server.freeze()
        try:
            calls = {name: _timed(call) for name, call in _calls(store, job).items()}
            calls["follow"] = _timed(_result(follower))
            for name, took_s in zip(calls, await asyncio.gather(*calls.values()), strict=True):
                allowed_s = TIMEOUT_S + SLACK_S + (WAIT_S if name == "claim" else 0.0)
                assert took_s < allowed_s, name
            assert await _timed(_opened(server.url)) < TIMEOUT_S + SLACK_S
        finally:
            server.thaw()
        await is_back(store)
        assert [entry.value for entry in await store.read("t", ("l",))][:1] == [b"x"]
        server.freeze()
        closing = time.monotonic()
    try:
        assert time.monotonic() - closing < 2 * SLACK_S
    finally:
        server.thaw()


async def test_a_frozen_server_does_not_hold_up_a_cancelled_call(server: Server) -> None:
    async with open_store(server.url, timeout_s=60.0) as store:
        job = await _prepared(store)
        server.freeze()
        try:
            tasks = {asyncio.ensure_future(call) for call in _calls(store, job).values()}
            await asyncio.wait(tasks, timeout=0.2)
            for task in tasks:
                task.cancel()
            done, late = await asyncio.wait(tasks, timeout=SLACK_S)
            assert not late
            assert all(task.cancelled() for task in done)
        finally:
            server.thaw()


@pytest.mark.parametrize("scheme", sorted(KINDS))
async def test_a_peer_that_says_nothing_is_no_store(scheme: str) -> None:
    left = asyncio.Event()

    async def say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(-1)
        writer.close()
        left.set()

    async with await asyncio.start_server(say_nothing, "127.0.0.1", 0) as silent:
        port = silent.sockets[0].getsockname()[1]
        assert await _timed(_opened(f"{scheme}://127.0.0.1:{port}/0")) < TIMEOUT_S + SLACK_S
        await asyncio.wait_for(left.wait(), SLACK_S)


async def _prepared(store: Backend) -> Job:
    await store.put("t", ("k",), b"x")
    await store.append("t", ("l",), [b"x"], ttl_s=3600.0)
    await store.enqueue("t", "q", b"job")
    job = await store.claim("t", "q", lease_s=3600.0)
    assert job is not None
    return job


def _calls(store: Backend, job: Job) -> dict[str, Awaitable[object]]:
    """Each method of the port, but `follow`."""
    return {
        "get": store.get("t", ("k",)),
        "put": store.put("t", ("k",), b"y"),
        "compare_and_set": store.compare_and_set("t", ("k",), b"y", revision=1),
        "delete": store.delete("t", ("k",)),
        "scan": _all(store.scan("t")),
        "append": store.append("t", ("l",), [b"y"], ttl_s=3600.0),
        "read": store.read("t", ("l",)),
        "new follow": _all(store.follow("t", ("l",))),
        "drop": store.drop("t", ("other",)),
        "enqueue": store.enqueue("t", "q", b"job"),
        "claim": store.claim("t", "q", lease_s=30.0, wait_s=WAIT_S),
        "extend": store.extend("t", "q", job, lease_s=30.0),
        "ack": store.ack("t", "q", job),
        "release": store.release("t", "q", job),
    }


async def _timed(call: Awaitable[object]) -> float:
    """How long it took to fail."""
    begun = time.monotonic()
    with pytest.raises(StoreError):
        await call
    return time.monotonic() - begun


async def _result(task: asyncio.Task[None]) -> None:
    await task


async def _all(found: AsyncIterator[object]) -> list[object]:
    return [each async for each in found]


async def _followed(store: Backend) -> None:
    async with aclosing(store.follow("t", ("l",))) as entries:  # type: ignore[type-var]
        async for _ in entries:
            pass


async def _opened(url: str) -> None:
    async with open_store(f"{url}?timeout_s={TIMEOUT_S}"):
        pass
