"""The limits that servers really have are errors that name them, and the store goes on after them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from seamstream.errors import StoreLimitError
from seamstream.stores import open_store, postgres_pool
from seamstream.stores.backend import Backend
from seamstream.stores.sqlite import SqliteBackend
from seamstream.testing.contract_helpers import large_value
from tests.stores.servers import NatsServer, PostgresServer, RedisServer, Server


class SmallRedis(RedisServer):
    def command(self) -> list[str]:
        return [*super().command(), "--proto-max-bulk-len", "1mb"]


class FullRedis(RedisServer):
    def command(self) -> list[str]:
        return [*super().command(), "--maxmemory", "16mb", "--maxmemory-policy", "noeviction"]


class SmallNats(NatsServer):
    settings = "max_payload: 65536"


class FullNats(NatsServer):
    storage = "max_file_store: 2MB"


async def test_redis_names_its_largest_value() -> None:
    with _started(SmallRedis()) as server:
        async with open_store(server.url) as store:
            await _refuses(store, "proto-max-bulk-len")


async def test_redis_names_its_memory() -> None:
    with _started(FullRedis()) as server:
        async with open_store(server.url) as store:
            with pytest.raises(StoreLimitError, match="maxmemory"):
                await _fill(store)
            async for key, _ in store.scan("t"):
                await store.delete("t", key)
            assert await store.put("t", ("small",), b"x")


async def test_nats_cuts_values_as_small_as_its_server_wants() -> None:
    with _started(SmallNats()) as server:
        async with open_store(server.url) as store:
            await store.put("t", ("k",), large_value())
            record = await store.get("t", ("k",))
            assert record is not None
            assert record.value == large_value()


async def test_nats_names_its_storage() -> None:
    with _started(FullNats()) as server:
        async with open_store(server.url) as store:
            await _refuses(store, "storage|resource")


async def test_sqlite_names_a_full_file(tmp_path: Path) -> None:
    store = await SqliteBackend(tmp_path / "db", synchronous="NORMAL").open()
    try:
        await store._run(lambda connection: connection.execute("PRAGMA max_page_count = 100"))
        await _refuses(store, "full")
    finally:
        await store.aclose()


async def test_sqlite_names_its_largest_value(tmp_path: Path) -> None:
    store = await SqliteBackend(tmp_path / "db", synchronous="NORMAL").open()
    try:
        await store._run(lambda connection: connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 1_000_000))
        await _refuses(store, "too big")
    finally:
        await store.aclose()


async def test_postgres_names_its_largest_value(
    postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A limit of its own, lower: the real one takes a gigabyte to reach."""
    monkeypatch.setattr(postgres_pool, "VALUE_BYTES", 1_000_000)
    async with open_store(postgres_server.url) as store:
        await _refuses(store, "1000000 bytes")


async def _fill(store: Backend) -> None:
    for number in range(10):
        await store.put("t", ("k", str(number)), large_value())


async def _refuses(store: Backend, limit: str) -> None:
    """A large value in each call that takes one, and nothing of it is kept."""
    with pytest.raises(StoreLimitError, match=limit):
        await store.put("t", ("k",), large_value())
    with pytest.raises(StoreLimitError, match=limit):
        await store.append("t", ("l",), [b"x", large_value()])
    with pytest.raises(StoreLimitError, match=limit):
        await store.enqueue("t", "q", large_value())
    assert await store.get("t", ("k",)) is None
    assert await store.read("t", ("l",)) == []
    assert await store.claim("t", "q", lease_s=1.0) is None
    assert await store.put("t", ("k",), b"small")


@contextmanager
def _started(server: Server) -> Iterator[Server]:
    try:
        server.start()
        yield server
    finally:
        server.close()
