"""Servers that are killed and come back: what was acknowledged is there, and the same handle goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from seamstream.errors import StoreError
from seamstream.stores import open_store
from seamstream.stores.backend import Backend
from seamstream.stores.postgres_migrations import migrate
from tests.stores.servers import NatsServer, PostgresServer, RedisServer, Server

KINDS: dict[str, type[Server]] = {"redis": RedisServer, "nats": NatsServer, "postgresql": PostgresServer}
RESTARTS = 3
BACK_S = 30.0


@pytest.fixture(params=sorted(KINDS))
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    yield from started(KINDS[request.param]())


def started(server: Server) -> Iterator[Server]:
    """A server of one test's own."""
    try:
        server.start()
        if isinstance(server, PostgresServer):
            asyncio.run(migrate(server.owner_url, role="seamstream_app"))
        yield server
    finally:
        server.close()


async def test_nothing_acknowledged_is_lost(server: Server) -> None:
    acknowledged: list[bytes] = []
    async with open_store(server.url) as store:
        for restart in range(RESTARTS):
            for number in range(20):
                value = b"%d-%d" % (restart, number)
                assert await store.append("t", ("l",), [value]) is not None
                await store.put("t", ("k", value.decode()), value)
                acknowledged.append(value)
            job_id = await store.enqueue("t", f"q{restart}", b"job")
            server.kill()
            with pytest.raises(StoreError):
                await store.put("t", ("while it is down",), b"x")
            server.start()
            await is_back(store)
            assert [entry.value for entry in await store.read("t", ("l",))] == acknowledged
            assert {record.value async for _, record in store.scan("t", ("k",))} == set(acknowledged)
            job = await store.claim("t", f"q{restart}", lease_s=30.0)
            assert job is not None
            assert job.id == job_id


async def is_back(store: Backend) -> None:
    """The first calls may still meet the lost connection."""
    async with asyncio.timeout(BACK_S):
        while True:
            try:
                await store.get("t", ("x",))
            except StoreError:
                await asyncio.sleep(0.05)
            else:
                return
