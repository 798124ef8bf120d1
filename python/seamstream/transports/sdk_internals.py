"""The parts of SDK clients and of httpx clients that are not public, in one file: where a client keeps its
HTTP client, and where that keeps its transports.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ..errors import ConfigurationError

SDKS: Final = ("openai", "anthropic")


def http_client_of(client: Any) -> Any:
    """The HTTP client through which an SDK's client speaks."""
    tops = {kind.__module__.partition(".")[0] for kind in type(client).__mro__}
    http_client = getattr(client, "_client", None)
    if tops.isdisjoint(SDKS) or http_client is None:
        raise ConfigurationError(
            f"cannot wrap {type(client).__name__}: it is no client of {' or '.join(SDKS)}; "
            "give its HTTP client a seamstream.httpx.RecoveryTransport"
        )
    return http_client


def transport_of(http_client: Any) -> Any:
    """What an httpx client sends its requests through, proxies apart."""
    return http_client._transport  # noqa: SLF001


def with_transports(http_client: Any, make: Callable[[Any], Any]) -> Any:
    """A copy of an httpx client with `make` around each of its transports; the connections are shared.

    The SDKs' own classes close their connections when they are collected. The copy must not, as the original
    may be in use, and it keeps the original alive, which therefore must not either.
    """
    copied: Any = object.__new__(_without_sdk(type(http_client)))
    state = dict(vars(http_client))
    state["_transport"] = make(state["_transport"])
    state["_mounts"] = {
        pattern: make(transport) if transport is not None else None
        for pattern, transport in state["_mounts"].items()
    }
    vars(copied).update(state, _seamstream_original=http_client)
    return copied


def _without_sdk(kind: type) -> type:
    return next(base for base in kind.__mro__ if base.__module__.partition(".")[0] not in SDKS)
