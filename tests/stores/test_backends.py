"""The contract of all backends, each with two clients of its own on the same data."""

from __future__ import annotations

import asyncio

import pytest

from seamstream.errors import ConfigurationError, StoreError
from seamstream.stores import Operator, open_store
from seamstream.testing.backend_contract import BACKEND_CONTRACT, Check

checks = pytest.mark.parametrize("check", BACKEND_CONTRACT, ids=lambda check: check.__name__)


@checks
async def test_memory_keeps_the_contract(check: Check) -> None:
    async with open_store("memory:") as backend:
        await check(backend, backend)


@checks
async def test_stores_keep_the_contract(check: Check, store_url: str) -> None:
    async with open_store(store_url) as one, open_store(store_url) as two:
        await check(one, two)


async def test_an_operator_claims_for_the_tenants_it_names(store_url: str) -> None:
    async with open_store(store_url) as store:
        await store.enqueue("operated", "q", b"mine")
        await store.enqueue("another", "q", b"not mine")
        operator = Operator(store, ["idle", "operated"])
        claimed = await operator.claim("q", lease_s=30.0)
        assert claimed is not None
        assert (claimed[0], claimed[1].body) == ("operated", b"mine")
        assert await operator.claim("q", lease_s=30.0) is None


@pytest.mark.parametrize("scheme", ["redis", "nats", "postgresql"])
async def test_a_server_that_is_away_is_an_error_within_its_limit(scheme: str) -> None:
    with pytest.raises(StoreError):
        async with asyncio.timeout(30), open_store(f"{scheme}://127.0.0.1:1/0?timeout_s=1"):
            pass


@pytest.mark.parametrize(
    "url",
    [
        "mysql://x",
        "/just/a/path",
        "sqlite://host/path",
        "sqlite:///",
        "sqlite:///x?synchronous=OFF",
        "nats://h?replicas=x",
        "redis://h?timeout_s=0",
        "memory:?timeout_s=soon",
        "postgresql://h?timeout_s=inf",
    ],
)
async def test_a_url_that_names_no_store_is_refused(url: str) -> None:
    with pytest.raises(ConfigurationError):
        async with open_store(url):
            pass
