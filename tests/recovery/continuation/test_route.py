"""A route leads an attempt to another address, over both transports, and never takes a credential along."""

from __future__ import annotations

import httpx2
import pytest
from multidict import CIMultiDict
from yarl import URL

from seamstream.recovery.continuation.route import Route
from seamstream.transports.aiohttp_routes import routed, routed_headers
from seamstream.transports.httpx_exchange import reroute_headers as httpx_headers
from seamstream.transports.httpx_exchange import routed as httpx_routed

FIRST = "https://api.example/v1/chat/completions?key=abc"
ROUTES = [
    (Route(), FIRST),
    (Route(path="/beta/chat/completions"), "https://api.example/beta/chat/completions?key=abc"),
    (Route(path="/v1/a%2Fb"), "https://api.example/v1/a%2Fb?key=abc"),
    (
        Route(method="GET", path="/v1/responses/r1", query=(("stream", "true"), ("starting_after", "7"))),
        "https://api.example/v1/responses/r1?key=abc&stream=true&starting_after=7",
    ),
    (Route(origin="http://other.example:81"), "http://other.example:81/v1/chat/completions"),
]


@pytest.mark.parametrize(("route", "expected"), ROUTES)
def test_the_address_changes_only_where_the_route_says_so(route: Route, expected: str) -> None:
    assert str(routed(URL(FIRST), route)) == expected
    assert str(httpx_routed(httpx2.URL(FIRST), route)) == expected


def test_another_origin_gets_no_credentials_of_the_caller() -> None:
    given = {"Authorization": "Bearer k", "X-Api-Key": "k", "Host": "api.example", "Accept": "x"}
    route = Route(origin="http://other.example:81", headers=(("Authorization", "Bearer other"),))
    url = routed(URL(FIRST), route)
    mine = routed_headers(CIMultiDict(given), URL(FIRST), url, route)
    expected = {"Host": "other.example:81", "Accept": "x", "Authorization": "Bearer other"}
    assert dict(mine) == expected
    theirs = httpx2.Headers(given)
    httpx_headers(theirs, httpx2.URL(FIRST), httpx_routed(httpx2.URL(FIRST), route), route)
    assert dict(theirs) == {name.lower(): value for name, value in expected.items()}


def test_the_same_origin_keeps_them() -> None:
    given = {"Authorization": "Bearer k", "X-Old": "1"}
    route = Route(path="/beta/x", without=("x-old",))
    url = routed(URL(FIRST), route)
    assert dict(routed_headers(CIMultiDict(given), URL(FIRST), url, route)) == {"Authorization": "Bearer k"}
