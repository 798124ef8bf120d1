"""The requests and responses of one run over httpx, as far as both twins share them: nothing here waits."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, Final

from ..driver import RunSpec
from ..effects import Open, Opened
from ..recovery.continuation.dialects import form_of
from ..recovery.continuation.route import GOES_ANYWHERE, KEY_PARAMETERS, Route
from .httpx_module import HttpxModule

RETRYABLE_STATUSES: Final = frozenset({408, 409, 429})
MAX_ERROR_BODY_BYTES: Final = 65_536


class Requests:
    """Makes each attempt's request from the caller's, which stays as it is.

    Its body is the run's, which differs if the history had to be repaired. `longest_read_s`: no read may take
    longer, for readers that cannot be interrupted by a timer.
    """

    def __init__(
        self,
        module: HttpxModule,
        request: Any,
        spec: RunSpec,
        *,
        longest_read_s: float | None = None,
    ) -> None:
        self._module = module
        self._request = request
        self.media_types = form_of(spec.dialect).media_types
        self._body = spec.body if spec.body is not None and spec.body != request.content else None
        self._headers = request.headers.copy()
        if spec.wants_stream:
            self._headers["Accept-Encoding"] = "identity"
        timeout = dict(request.extensions.get("timeout") or {})
        if timeout.get("connect") is None:
            timeout["connect"] = spec.policy.connect_s
        if longest_read_s is not None:
            timeout["read"] = min(timeout.get("read") or longest_read_s, longest_read_s)
        self._extensions = {**request.extensions, "timeout": timeout}

    def make(self, effect: Open) -> Any:
        """The request of one attempt."""
        first, headers, route = self._request, self._headers.copy(), effect.route or Route()
        url = routed(first.url, route)
        reroute_headers(headers, first.url, url, route)
        headers.update(effect.headers)
        content = effect.body if effect.body is not None else self._body
        body: dict[str, Any] = {"stream": first.stream}
        if content is not None:
            headers.pop("Content-Length", None)
            body = {"content": content}
        return self._module.package.Request(
            route.method or first.method, url, headers=headers, extensions=self._extensions, **body
        )


def routed(url: Any, route: Route) -> Any:
    """The address that a route leads to from `url`."""
    if route.url is not None:
        url = type(url)(route.url)
    if route.origin is not None:
        other = type(url)(route.origin)
        for name in KEY_PARAMETERS:
            url = url.copy_remove_param(name)
        url = url.copy_with(scheme=other.scheme, host=other.host, port=other.port)
    if route.path is not None:
        query = url.query
        url = url.copy_with(raw_path=route.path.encode() + (b"?" + query if query else b""))
    for name, value in route.query:
        url = url.copy_set_param(name, value)
    return url


def reroute_headers(headers: Any, first: Any, url: Any, route: Route) -> None:
    """No credential to another origin."""
    leaves = (url.scheme, url.netloc) != (first.scheme, first.netloc)
    private = [name for name in headers if name.lower() not in GOES_ANYWHERE] if leaves else ()
    for name in (*route.without, *private):
        headers.pop(name, None)
    if leaves and "Host" in headers:
        headers["Host"] = url.netloc.decode("ascii")
    headers.update(dict(route.headers))


def retained_body(request: Any, limit_bytes: int) -> bytes | None:
    """The request's body if it is in memory and small enough to be kept for another attempt."""
    try:
        body: bytes = request.content
    except RuntimeError:  # RequestNotRead: it is a stream that can be sent once
        return None
    return body if len(body) <= limit_bytes else None


def is_stream(response: Any, media_types: Collection[str]) -> bool:
    """A success whose body is a stream of such a type, compressed or not."""
    content_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    return bool(200 <= response.status_code < 300 and content_type in media_types)


def is_compressed(response: Any) -> bool:
    """The server compressed although it was asked not to."""
    encoding = response.headers.get("content-encoding", "identity")
    return encoding.strip().lower() not in ("", "identity")


def own_connection(response: Any) -> Any:
    """The connection of a response that has it to itself, which over HTTP/2 none has."""
    if response.extensions.get("http_version", b"") == b"HTTP/2":
        return None
    return response.extensions.get("network_stream")


def tells_about_a_retry(response: Any, attempt: int) -> bool:
    """What is no stream is read only where it decides something."""
    return response.status_code >= 500 or response.status_code in RETRYABLE_STATUSES or attempt > 1


def opened(response: Any, media_types: Collection[str], body: bytes = b"") -> Opened:
    """The head of a response, and the beginning of one that is no stream."""
    headers = {name.lower(): value for name, value in response.headers.items()}
    if not is_stream(response, media_types):
        return Opened(response.status_code, headers, False, body)
    if is_compressed(response):
        return Opened(response.status_code, headers, False, unreadable="the response is compressed")
    return Opened(response.status_code, headers, True)


def with_body(
    module: HttpxModule,
    response: Any,
    stream: Any,
    *,
    without: Iterable[str] = (),
    headers: dict[str, str] | None = None,
) -> Any:
    """The same response over another body, with its headers changed accordingly."""
    changed = response.headers.copy()
    for name in without:
        changed.pop(name, None)
    changed.update(headers or {})
    return module.package.Response(
        response.status_code, headers=changed, stream=stream, extensions=response.extensions
    )
