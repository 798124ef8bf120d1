"""The address and the headers of an attempt that goes another way, for aiohttp."""

from __future__ import annotations

from collections.abc import Mapping

from aiohttp import ClientHandlerType, ClientMiddlewareType, ClientRequest, ClientResponse
from multidict import CIMultiDict
from yarl import URL

from ..recovery.continuation.route import GOES_ANYWHERE, KEY_PARAMETERS, Route


def routed(url: URL, route: Route) -> URL:
    """The address that a route leads to from `url`."""
    if route.url is not None:
        url = URL(route.url)
    if route.origin is not None:
        other = URL(route.origin)
        kept = [(name, value) for name, value in url.query.items() if name not in KEY_PARAMETERS]
        url = (
            url.with_query(kept)
            .with_scheme(other.scheme)
            .with_host(other.host or "")
            .with_port(other.explicit_port)
        )
    if route.path is not None:
        url = url.with_path(route.path, encoded=True, keep_query=True)
    return url.update_query(list(route.query)) if route.query else url


def routed_headers(headers: CIMultiDict[str], first: URL, url: URL, route: Route) -> CIMultiDict[str]:
    """The headers of a request that a route leads from `first` to `url`: no credential to another origin."""
    changed = headers.copy()
    leaves = url.origin() != first.origin()
    private = [name for name in set(changed) if name.lower() not in GOES_ANYWHERE] if leaves else ()
    for name in (*route.without, *private):
        changed.popall(name, None)
    if leaves and "Host" in changed:
        changed["Host"] = url.host_port_subcomponent or ""
    changed.update(route.headers)
    return changed


def only_with(headers: Mapping[str, str], origin: URL) -> ClientMiddlewareType:
    """For a session that has credentials of its own: nothing of them leaves with a request to `origin`, which
    gets `headers`, nor with what it redirects to, which gets neither.
    """

    async def send(request: ClientRequest, handler: ClientHandlerType) -> ClientResponse:
        for name in [name for name in request.headers if name.lower() not in GOES_ANYWHERE]:
            request.headers.popall(name, None)
        if request.url.origin() == origin:
            request.headers.update({name: value for name, value in headers.items() if name != "Host"})
        return await handler(request)

    return send
