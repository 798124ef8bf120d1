"""`open_store(url)`: the backend that a URL names, opened and closed around a block."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Protocol
from urllib.parse import parse_qs, unquote, urlsplit

from ..errors import ConfigurationError
from .backend import Backend


class _Openable(Backend, Protocol):
    async def open(self) -> Any: ...


@asynccontextmanager
async def open_store(url: str) -> AsyncIterator[Backend]:
    """Open a store: `memory:`, `sqlite:///path`, `redis://`, `nats://` or `postgresql://`.

    ConfigurationError for a URL that names no store, a driver that is not installed, or a server that cannot
    keep what is promised; StoreError when it cannot be reached.
    """
    backend = _backend(url)
    try:
        await backend.open()
        yield backend
    finally:
        await backend.aclose()


def _backend(url: str) -> _Openable:
    scheme = urlsplit(url).scheme.lower()
    if scheme == "memory":
        from .memory_backend import MemoryBackend

        return MemoryBackend()
    if scheme == "sqlite":
        return _sqlite(url)
    if scheme in ("redis", "rediss", "unix"):
        from .redis import RedisBackend

        return RedisBackend(url)
    if scheme in ("nats", "tls"):
        return _nats(url)
    if scheme in ("postgresql", "postgres"):
        from .postgres import PostgresBackend

        return PostgresBackend(url)
    known = "memory:, sqlite:///path, redis://, nats://, postgresql://"
    raise ConfigurationError(f"no store has the scheme {scheme!r}; there are {known}")


def _sqlite(url: str) -> _Openable:
    from .sqlite import SqliteBackend

    parts = urlsplit(url)
    path = unquote(parts.path).removeprefix("/")
    if parts.netloc or not path:
        raise ConfigurationError("a SQLite store is sqlite:///relative/path or sqlite:////absolute/path")
    synchronous = parse_qs(parts.query).get("synchronous", ["FULL"])[0].upper()
    if synchronous == "NORMAL":
        return SqliteBackend(path, synchronous="NORMAL")
    if synchronous == "FULL":
        return SqliteBackend(path)
    raise ConfigurationError(f"synchronous is FULL or NORMAL, not {synchronous!r}")


def _nats(url: str) -> _Openable:
    from .nats import NatsBackend

    replicas = parse_qs(urlsplit(url).query).get("replicas", ["1"])[0]
    if not replicas.isdecimal():
        raise ConfigurationError(f"replicas is a number, not {replicas!r}")
    return NatsBackend(url.partition("?")[0], replicas=int(replicas))
