"""The parts of SDK clients and of httpx clients that are not public, in one file: where a client keeps its
HTTP client, and where that keeps its transports.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Final

from ..errors import ConfigurationError

SDKS: Final = ("openai", "anthropic", "google")


def is_google(client: Any) -> bool:
    """Is this a client of google-genai, which holds an async and a sync HTTP client?"""
    return any(kind.__module__.startswith("google.genai") for kind in type(client).__mro__)


def google_http_clients(client: Any) -> tuple[Any, Any]:
    """The sync and the async HTTP client of a google-genai client."""
    api = client._api_client  # noqa: SLF001
    if api._http_options.aiohttp_client is not None:  # noqa: SLF001
        raise ConfigurationError(
            "this client speaks through an aiohttp session of its own, so give that session the middleware "
            "instead of wrapping the client: middlewares=(seamstream.RecoveryMiddleware(policy),)"
        )
    if api._async_httpx_client is None:  # noqa: SLF001
        raise ConfigurationError("this client speaks through google-auth, which cannot be wrapped")
    return api._httpx_client, api._async_httpx_client  # noqa: SLF001


def google_over(client: Any, sync_http: Any, async_http: Any) -> Any:
    """The same google-genai client over other HTTP clients, without retries of its own.

    An async HTTP client that is given keeps the SDK from taking aiohttp.
    """
    old = client._api_client  # noqa: SLF001
    api: Any = object.__new__(type(old))
    given = {"httpx_client": sync_http, "httpx_async_client": async_http, "retry_options": None}
    never = sys.modules[type(old).__module__].retry_args(None)
    vars(api).update(
        vars(old),
        _httpx_client=sync_http,
        _async_httpx_client=async_http,
        _http_options=old._http_options.model_copy(update=given),  # noqa: SLF001
        _retry=type(old._retry)(**never),  # noqa: SLF001
        _async_retry=type(old._async_retry)(**never),  # noqa: SLF001
        _seamstream_original=client,
    )
    return _rebound(client, old, api)


def _rebound(holder: Any, old: Any, new: Any) -> Any:
    """A copy whose parts speak through `new`; what the SDK makes when first asked for is made again."""
    copied: Any = object.__new__(type(holder))
    for name, value in vars(holder).items():
        made_late = "._gaos" in type(value).__module__
        if value is old:
            vars(copied)[name] = new
        elif made_late or getattr(value, "_api_client", None) is not old:
            vars(copied)[name] = None if made_late else value
        else:
            vars(copied)[name] = _rebound(value, old, new)
    return copied


def http_client_of(client: Any) -> Any:
    """The HTTP client through which a client of openai or anthropic speaks."""
    tops = {kind.__module__.partition(".")[0] for kind in type(client).__mro__}
    http_client = getattr(client, "_client", None)
    if tops.isdisjoint(SDKS) or http_client is None:
        raise ConfigurationError(
            f"cannot wrap {type(client).__name__}: it is no client of openai, anthropic or google-genai; "
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
