"""The contract of all backends, each with two clients of its own on the same data."""

from __future__ import annotations

from pathlib import Path

import pytest

from seamstream.stores.backend import Backend
from seamstream.stores.memory_backend import MemoryBackend
from seamstream.stores.sqlite import SqliteBackend
from seamstream.testing.backend_contract import BACKEND_CONTRACT, Check

checks = pytest.mark.parametrize("check", BACKEND_CONTRACT, ids=lambda check: check.__name__)


@checks
async def test_memory(check: Check) -> None:
    backend: Backend = MemoryBackend()
    await check(backend, backend)


@checks
async def test_sqlite(check: Check, tmp_path: Path) -> None:
    one = await SqliteBackend(tmp_path / "store.db").open()
    two = await SqliteBackend(tmp_path / "store.db").open()
    try:
        await check(one, two)
    finally:
        await one.aclose()
        await two.aclose()


@checks
async def test_redis(check: Check) -> None:
    from seamstream.stores.redis import RedisBackend
    one = await RedisBackend("redis://127.0.0.1:6379/9").open()
    two = await RedisBackend("redis://127.0.0.1:6379/9").open()
    try:
        await check(one, two)
    finally:
        await one.aclose()
        await two.aclose()


@checks
async def test_postgres(check: Check) -> None:
    from seamstream.stores.postgres import PostgresBackend
    from seamstream.stores.postgres_migrations import migrate
    await migrate("postgresql://postgres@127.0.0.1:5432/test", role="seamstream_app")
    url = "postgresql://seamstream_app@127.0.0.1:5432/test"
    one = await PostgresBackend(url).open()
    two = await PostgresBackend(url).open()
    try:
        await check(one, two)
    finally:
        await one.aclose()
        await two.aclose()
