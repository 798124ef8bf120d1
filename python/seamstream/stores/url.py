"""`open_store(url)`: the backend that a URL names, opened and closed around a block."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final, Protocol
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from ..errors import ConfigurationError
from .backend import Backend
from .in_time import DEFAULT_TIMEOUT_S

_OURS: Final = frozenset({"timeout_s", "synchronous", "replicas"})


class _Openable(Backend, Protocol):
    async def open(self) -> Any: ...


@asynccontextmanager
async def open_store(url: str, *, timeout_s: float | None = None) -> AsyncIterator[Backend]:
    """Open a store: `memory:`, `sqlite:///path`, `redis://`, `nats://` or `postgresql://`.

    No call takes longer than `timeout_s` seconds (10, or what the URL says: `?timeout_s=3`), apart from the
    time that its caller lets it wait; a server that hangs is a StoreError then. For SQLite it is how long a
    write waits for other processes'.

    ConfigurationError for a URL that names no store, a driver that is not installed, or a server that cannot
    keep what is promised; StoreError when it cannot be reached.
    """
    address, options = _split(url)
    if timeout_s is not None:
        options["timeout_s"] = str(timeout_s)
    backend = _made(address, options)
    try:
        await _open(backend, address)
        yield backend
    finally:
        await backend.aclose()


def _made(address: str, options: dict[str, str]) -> _Openable:
    try:
        return _backend(address, options)
    except ConfigurationError:
        raise
    except (TypeError, ValueError) as error:
        raise _unusable(address, error) from None


async def _open(backend: _Openable, address: str) -> None:
    try:
        await backend.open()
    except ConfigurationError:
        raise
    except (TypeError, ValueError) as error:
        raise _unusable(address, error) from None


def _unusable(address: str, error: Exception) -> ConfigurationError:
    """Drivers refuse parts of a URL like this, and quote them: what they quote may be of the password."""
    scheme = address.partition(":")[0]
    return ConfigurationError(f"the driver of {scheme}: cannot use this URL: {type(error).__name__}")


def _split(url: str) -> tuple[str, dict[str, str]]:
    """The URL for the driver, and the options in it that are ours."""
    address, _, query = url.partition("?")
    options = dict(parse_qsl(query, keep_blank_values=True))
    theirs = {name: value for name, value in options.items() if name not in _OURS}
    ours = {name: value for name, value in options.items() if name in _OURS}
    return f"{address}?{urlencode(theirs)}" if theirs else address, ours


def _backend(url: str, options: dict[str, str]) -> _Openable:
    scheme, timeout_s = urlsplit(url).scheme.lower(), _seconds(options.get("timeout_s"))
    if scheme == "memory":
        from .memory_backend import MemoryBackend

        return MemoryBackend()
    if scheme == "sqlite":
        return _sqlite(url, options.get("synchronous", "FULL").upper(), timeout_s)
    if scheme in ("redis", "rediss", "unix"):
        from .redis import RedisBackend

        return RedisBackend(url, timeout_s=timeout_s)
    if scheme in ("nats", "tls"):
        return _nats(url, options.get("replicas", "1"), timeout_s)
    if scheme in ("postgresql", "postgres"):
        from .postgres import PostgresBackend

        return PostgresBackend(url, timeout_s=timeout_s)
    known = "memory:, sqlite:///path, redis://, nats://, postgresql://"
    raise ConfigurationError(f"no store has the scheme {scheme!r}; there are {known}")


def _sqlite(url: str, synchronous: str, timeout_s: float) -> _Openable:
    from .sqlite import SqliteBackend

    parts = urlsplit(url)
    path = unquote(parts.path).removeprefix("/")
    if parts.netloc or not path:
        raise ConfigurationError("a SQLite store is sqlite:///relative/path or sqlite:////absolute/path")
    if synchronous == "NORMAL":
        return SqliteBackend(path, synchronous="NORMAL", timeout_s=timeout_s)
    if synchronous == "FULL":
        return SqliteBackend(path, timeout_s=timeout_s)
    raise ConfigurationError(f"synchronous is FULL or NORMAL, not {synchronous!r}")


def _nats(url: str, replicas: str, timeout_s: float) -> _Openable:
    from .nats import NatsBackend

    if not replicas.isdecimal():
        raise ConfigurationError(f"replicas is a number, not {replicas!r}")
    return NatsBackend(url, replicas=int(replicas), timeout_s=timeout_s)


def _seconds(text: str | None) -> float:
    try:
        seconds = DEFAULT_TIMEOUT_S if text is None else float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise ConfigurationError(f"timeout_s is a number of seconds above 0, not {text!r}")
    return seconds
