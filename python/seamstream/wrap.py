"""`seamstream.wrap(client)`: the same SDK client, whose answers come whole."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, TypeVar

from .clock import BlockingClock
from .errors import ConfigurationError
from .httpx import RecoveryTransport, SyncRecoveryTransport
from .observe.hooks import Sink
from .recovery.continuation.profile import Profile
from .recovery.continuation.profiles import ProfileBook
from .recovery.policy import RecoveryPolicy
from .stores.checkpoints import StreamCheckpointStore
from .transports.botocore_internals import is_botocore
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


def wrap(
    client: C,
    policy: RecoveryPolicy | None = None,
    *,
    store: StreamCheckpointStore | None = None,
    sinks: Iterable[Sink] = (),
    clock: BlockingClock | None = None,
    profiles: ProfileBook | Iterable[Profile] | None = None,
) -> C:
    """A client like `client` (openai, anthropic, google-genai; async, sync) over a recovering transport, or
    one of boto3 or aiobotocore for Bedrock, whose `converse_stream` is made whole.

    The client that is passed in stays as it is, and both share their connections. The SDK's own retries are
    off in the new one, because there is one budget for all of them. `store` is for async clients.
    google-genai closes no HTTP client that it was given: there close the client that was passed in.
    """
    shared: dict[str, Any] = {"sinks": sinks, "clock": clock, "profiles": profiles}

    def recovering(http_client: Any) -> Any:
        _check(transport_of(http_client))
        if isinstance(http_client, module_of(http_client).package.AsyncClient):
            return with_transports(
                http_client, lambda inner: RecoveryTransport(inner, policy, store=store, **shared)
            )
        return with_transports(http_client, lambda inner: SyncRecoveryTransport(inner, policy, **shared))

    if is_botocore(client):
        from .bedrock import wrap_bedrock  # whoever has no such client does not wait for it

        return wrap_bedrock(client, policy, store=store, **shared)
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
