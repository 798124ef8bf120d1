# ruff: noqa: SLF001
"""The parts of botocore and aiobotocore that are not public: looked at here and nowhere else.

An endpoint creates a request from a dict (signing it), sends it, and parses what came. A recovering client is
a copy over a copy of its endpoint, whose `_send_request` is ours for operations that stream an answer; each
attempt's request is created, and so signed, by the endpoint itself. Nothing of either package is imported.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from ..errors import ConfigurationError

_ENDPOINT: Final = ("create_request", "_send_request", "_send", "_get_response", "_update_retries_context")


def is_botocore(client: object) -> bool:
    """A client of boto3 or aiobotocore."""
    return any(kind.__module__ in _CLIENTS for kind in type(client).__mro__)


def is_async(client: object) -> bool:
    """One of aiobotocore."""
    return any(kind.__module__ == "aiobotocore.client" for kind in type(client).__mro__)


_CLIENTS: Final = frozenset({"botocore.client", "aiobotocore.client"})


def service_of(client: Any) -> str:
    """The service that a client is for, as botocore names it."""
    return str(client.meta.service_model.service_name)


def is_over_aiohttp(client: Any) -> bool:
    """Does an async client send through aiohttp? aiobotocore can also send through httpx."""
    return any(kind.__name__ == "AIOHTTPSession" for kind in type(client._endpoint.http_session).__mro__)


@dataclass(frozen=True, slots=True)
class Call:
    """One call of an operation, as the endpoint is asked for it."""

    endpoint: Any
    request: Mapping[str, Any]
    operation: Any

    def with_body(self, attempt: int, body: bytes | None, headers: Mapping[str, str]) -> Call:
        """The call of a later attempt. Everything that a signature covers is made anew from it.

        All attempts share the call's context, as they do under botocore, which counts them there.
        """
        self.endpoint._update_retries_context(self.request["context"], attempt)
        changed = {**self.request, "headers": {**self.request["headers"], **headers}}
        if body is not None:
            changed["body"] = body
        return replace(self, request=changed)

    def untouched(self) -> Any:
        """What the endpoint makes of the call by itself (aiobotocore: an awaitable)."""
        return self.endpoint._send_request(self.request, self.operation)

    def create(self) -> Any:
        """The signed request (aiobotocore: an awaitable of it)."""
        return self.endpoint.create_request(self.request, self.operation)

    def send(self, prepared: Any) -> Any:
        """Send it, and return the response with its body unread (aiobotocore: an awaitable)."""
        return self.endpoint._send(prepared)

    def parsed(self, prepared: Any, send: Callable[[Any], Any]) -> Any:
        """What the endpoint makes of the response that `send` gives: a pair of its result, which is the
        response and the parsed dict, and of the exception in its place (aiobotocore: an awaitable).
        """
        answering = copy.copy(self.endpoint)
        answering._send = send
        return answering._get_response(prepared, self.operation, self.request["context"])

    def result(self, parsed: tuple[Any, Exception | None]) -> Any:
        """What `parsed` told, as an endpoint returns or raises it."""
        success, error = parsed
        if error is not None:
            raise error
        retries = self.request["context"]["retries"]["attempt"] - 1
        success[1].setdefault("ResponseMetadata", {})["RetryAttempts"] = retries
        return success


Sender = Callable[[Call], Any]


def recovering(client: Any, operations: frozenset[str], send: Sender) -> Any:
    """A copy of the client whose calls of these operations are made by `send`."""
    inner: Any = getattr(client, "_endpoint", None)
    missing = [name for name in _ENDPOINT if not hasattr(inner, name)]
    if missing:
        raise ConfigurationError(f"this botocore has no {missing[0]}: its clients cannot be wrapped")
    endpoint = copy.copy(inner)
    # Its class looks up every missing attribute, which copying asks for.
    wrapped = object.__new__(type(client))
    vars(wrapped).update(vars(client))

    def send_request(request: Mapping[str, Any], operation: Any) -> Any:
        if operation.name in operations:
            return send(Call(inner, request, operation))
        return inner._send_request(request, operation)

    endpoint._send_request = send_request
    wrapped._endpoint = endpoint
    return wrapped


def is_wrapped(client: Any) -> bool:
    """Is it a copy that `recovering` has made?"""
    return "_send_request" in vars(getattr(client, "_endpoint", object()))
