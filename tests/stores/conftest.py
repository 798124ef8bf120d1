"""The five backends, on servers that are started once per test process."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from seamstream.stores.postgres_migrations import migrate
from tests.stores.servers import NatsServer, PostgresServer, RedisServer, Server


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    yield from _running(RedisServer())


@pytest.fixture(scope="session")
def nats_server() -> Iterator[NatsServer]:
    yield from _running(NatsServer())


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    for server in _running(PostgresServer()):
        asyncio.run(migrate(server.owner_url, role="seamstream_app"))
        yield server


@pytest.fixture(params=["sqlite", "redis", "nats", "postgresql"])
def store_url(request: pytest.FixtureRequest, tmp_path: object) -> str:
    """The address of each kind of store that two processes can share."""
    return _url_of(request, tmp_path)


@pytest.fixture(params=["memory", "sqlite", "redis", "nats", "postgresql"])
def any_store_url(request: pytest.FixtureRequest, tmp_path: object) -> str:
    """The address of each kind of store."""
    return _url_of(request, tmp_path)


@pytest.fixture(params=["redis", "nats", "postgres"])
def store_server(request: pytest.FixtureRequest) -> Server:
    """Each kind of store that is a server."""
    server: Server = request.getfixturevalue(f"{request.param}_server")
    return server


def _url_of(request: pytest.FixtureRequest, folder: object) -> str:
    if request.param == "memory":
        return "memory:"
    if request.param == "sqlite":
        return f"sqlite:///{folder}/store.db"
    name = {"postgresql": "postgres"}.get(request.param, request.param)
    return str(request.getfixturevalue(f"{name}_server").url)


def _running(server: Server) -> Iterator[Any]:
    try:
        server.start()
        yield server
    finally:
        server.close()
