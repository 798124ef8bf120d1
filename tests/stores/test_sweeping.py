"""What has expired is removed on the way of those who write, some of it each time."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import asyncpg
import redis.asyncio

from seamstream.stores import open_store
from seamstream.stores.backend import Backend
from seamstream.stores.keys import escape
from seamstream.stores.memory_backend import MemoryBackend
from seamstream.stores.sqlite import SqliteBackend
from seamstream.testing import FakeClock
from seamstream.testing.contract_helpers import until
from tests.stores.servers import PostgresServer, RedisServer

MANY = 50
TTL_S = 1.0
"""Longer than it takes to put them all."""
PUTS = 400
"""More than enough, even if others have left something."""


async def test_memory_forgets_what_has_expired() -> None:
    clock = FakeClock()
    store = MemoryBackend(clock=clock)
    await _fill(store, "t", ttl_s=60.0)
    await store.append("t", ("kept",), [b"x"])
    await clock.advance(61.0)
    for number in range(MANY):
        await store.put("t", ("new", str(number % 3)), b"x")
        await store.append("t", ("new", str(number)), [b"x"])
        await store.drop("t", ("new", str(number)))
    assert len(store._records) == 3
    assert set(store._logs) == {("t", "kept")}


async def test_sqlite_removes_a_bounded_number_of_rows_with_each_write(tmp_path: Path) -> None:
    clock = FakeClock()
    store = await SqliteBackend(tmp_path / "db", synchronous="NORMAL", clock=clock).open()
    try:
        await _fill(store, "t", ttl_s=60.0)
        await store.append("t", ("long",), [b"x"] * 100, ttl_s=60.0)
        await store.append("t", ("kept",), [b"x"])
        await clock.advance(61.0)
        with closing(sqlite3.connect(tmp_path / "db")) as file:

            def rows(table: str) -> int:
                return int(file.execute(f"SELECT count(*) FROM {table}").fetchone()[0])

            await store.put("another", ("k",), b"x")
            assert rows("record") == MANY - 16 + 1
            entries = rows("entry")
            await store.append("another", ("l",), [])
            assert rows("entry") == entries
            await store.append("another", ("l",), [b"x"])
            assert entries - 20 <= rows("entry") < entries
            for _ in range(MANY):
                await store.put("another", ("k",), b"x")
                await store.append("another", ("l",), [b"x"])
            assert (rows("record"), rows("log"), rows("entry")) == (1, 2, 1 + 1 + MANY)
    finally:
        await store.aclose()


async def test_a_sqlite_log_that_is_half_removed_does_not_come_back(tmp_path: Path) -> None:
    """Not even when the machine's clock is set back."""
    clock = FakeClock()
    store = await SqliteBackend(tmp_path / "db", synchronous="NORMAL", clock=clock).open()
    try:
        await store.append("t", ("long",), [b"x"] * 100, ttl_s=60.0)
        await clock.advance(61.0)
        await store.append("t", ("new",), [b"x"])
        store._clock = FakeClock()
        assert await store.read("t", ("long",)) == []
        assert await store.append("t", ("long",), [b"x"]) == 1
    finally:
        await store.aclose()


async def test_redis_forgets_the_names_of_records_that_expired(redis_server: RedisServer) -> None:
    tenant = "swept"
    async with open_store(redis_server.url) as store, _redis(redis_server) as server:
        index = f"seamstream:{{{escape(tenant)}}}:keys"
        await store.put(tenant, ("kept",), b"x")
        await _fill(store, tenant, ttl_s=TTL_S)
        await until(lambda: _is_gone(store, tenant))
        assert await server.zcard(index) == MANY + 1
        await store.put(tenant, ("new",), b"x")
        assert await server.zcard(index) == MANY + 2 - 16
        for _ in range(MANY // 16):
            await store.put(tenant, ("new",), b"x")
        assert await server.zcard(index) == 2
        assert [key async for key, _ in store.scan(tenant)] == [("kept",), ("new",)]


async def test_redis_forgets_a_tenant_whose_records_have_all_expired(redis_server: RedisServer) -> None:
    """But for the counter of its revisions, which must never repeat."""
    tenant = "gone"
    async with open_store(redis_server.url) as store, _redis(redis_server) as server:
        await store.put(tenant, ("at first not mortal",), b"x")
        await store.put(tenant, ("at first not mortal",), b"x", ttl_s=TTL_S)
        await _fill(store, tenant, ttl_s=TTL_S)

        async def nothing_is_left() -> bool:
            return await server.keys("seamstream:{gone}:*") == [b"seamstream:{gone}:rev"]

        await until(nothing_is_left)


async def test_postgres_removes_the_rows_of_tenants_that_never_come_back(
    postgres_server: PostgresServer,
) -> None:
    owner = await asyncpg.connect(postgres_server.owner_url)

    async def rows(table: str) -> int:
        sql = f"SELECT count(*) FROM seamstream.{table} WHERE tenant = 'away'"
        return int(await owner.fetchval(sql))

    try:
        async with open_store(postgres_server.url) as store:
            await _fill(store, "away", ttl_s=TTL_S)
            await store.append("away", ("long",), [b"x"] * 100, ttl_s=TTL_S)
            await store.append("away", ("kept",), [b"x"])
            await until(lambda: _is_gone(store, "away"))
            for _ in range(PUTS):
                before = await rows("record"), await rows("entry")
                await store.put("here", ("k",), b"x", ttl_s=TTL_S)
                assert before[0] - await rows("record") <= 16
                assert before[1] - await rows("entry") <= 16
                if await rows("record") == 0 and await rows("entry") == 1:
                    break
            assert [await rows(table) for table in ("record", "log", "entry")] == [0, 1, 1]
    finally:
        await owner.close()


async def test_postgres_writes_over_a_row_that_its_own_sweep_finds(postgres_server: PostgresServer) -> None:
    async with open_store(postgres_server.url) as store:
        for number in range(20):
            await store.put("over", ("k",), b"old", ttl_s=0.001)
            await store.append("over", ("l",), [b"old"], ttl_s=0.001)
            await asyncio.sleep(0.002)
            await store.put("over", ("k",), b"%d" % number)
            assert await store.append("over", ("l",), [b"%d" % number]) == 1
            record = await store.get("over", ("k",))
            assert record is not None
            assert record.value == b"%d" % number
            assert len(await store.read("over", ("l",))) == 1
            await store.drop("over", ("l",))


async def _fill(store: Backend, tenant: str, *, ttl_s: float) -> None:
    for number in range(MANY):
        await store.put(tenant, ("k", str(number)), b"x", ttl_s=ttl_s)
        await store.append(tenant, ("l", str(number)), [b"x"], ttl_s=ttl_s)


async def _is_gone(store: Backend, tenant: str) -> bool:
    return await store.get(tenant, ("k", str(MANY - 1))) is None


@asynccontextmanager
async def _redis(server: RedisServer) -> AsyncIterator[redis.asyncio.Redis]:
    async with redis.asyncio.Redis.from_url(server.url, protocol=2) as client:
        yield client
