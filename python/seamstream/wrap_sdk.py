"""Clients of openai, anthropic and google-genai over a recovering httpx transport."""

from __future__ import annotations

from typing import Any, Final, TypeVar

from .errors import ConfigurationError
from .httpx import RecoveryTransport, SyncRecoveryTransport
from .recovery.policy import RecoveryPolicy
from .stores.checkpoints import StreamCheckpointStore
from .transports.httpx_module import module_of
from .transports.sdk_internals import (
    google_http_clients,
    google_over,
    http_client_of,
    is_google,
    transport_of,
    with_transports,
)

C = TypeVar("C")

_OVER_AIOHTTP: Final = (
    "this client speaks through aiohttp, so give its session the middleware instead of wrapping it: "
    "http_client=DefaultAioHttpClient(transport=AiohttpTransport(client=lambda: aiohttp.ClientSession("
    "middlewares=(seamstream.RecoveryMiddleware(policy),)))), max_retries=0"
)


def wrap_sdk(
    client: C, policy: RecoveryPolicy | None, *, store: StreamCheckpointStore | None, **shared: Any
) -> C:
    """`seamstream.wrap` for one of these clients. Raises ConfigurationError."""

    def recovering(http_client: Any) -> Any:
        _check(transport_of(http_client))
        if isinstance(http_client, module_of(http_client).package.AsyncClient):
            return with_transports(
                http_client, lambda inner: RecoveryTransport(inner, policy, store=store, **shared)
            )
        return with_transports(http_client, lambda inner: SyncRecoveryTransport(inner, policy, **shared))

    if is_google(client):
        google: C = google_over(client, *map(recovering, google_http_clients(client)))
        return google
    same: Any = client
    http_client = http_client_of(client)
    if store is not None and not isinstance(http_client, module_of(http_client).package.AsyncClient):
        raise ConfigurationError("a checkpoint store needs an async client")
    wrapped: C = same.with_options(http_client=recovering(http_client), max_retries=0)
    return wrapped


def _check(transport: Any) -> None:
    if isinstance(transport, RecoveryTransport | SyncRecoveryTransport):
        raise ConfigurationError("this client is wrapped already")
    if any(kind.__name__ == "AiohttpTransport" for kind in type(transport).__mro__):
        raise ConfigurationError(_OVER_AIOHTTP)
