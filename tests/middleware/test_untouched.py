"""What is none of ours passes as stock aiohttp has it, and the response of a stream stays a response."""

from __future__ import annotations

import contextlib
from typing import Any

import aiohttp
import pytest
from aiohttp import web

import seamstream.middleware
from seamstream import RecoveryMiddleware, RecoveryPolicy
from seamstream.testing import Dialect, Fault
from tests.middleware.asking import DIALECTS, QUESTION, Asker, Delivery
from tests.middleware.test_healing import AT_ONCE

JSON = {"content-type": "application/json"}


async def test_a_healthy_stream_is_verbatim(asker: Asker) -> None:
    for dialect in DIALECTS:
        async with asker.scene(dialect=dialect) as scene:
            assert await scene.read() == await asker.unbroken(dialect)


@pytest.mark.parametrize("size", [1, 7, 1400, 65536])
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_however_it_is_cut_into_writes(asker: Asker, dialect: Dialect, size: int) -> None:
    expected = await asker.unbroken(dialect)
    writes = {"delivery": Delivery(write_bytes=size)}
    async with asker.scene(dialect=dialect, server=writes) as scene:
        assert await scene.read() == expected


@pytest.mark.parametrize(
    "way", ["read", "text", "iter_any", "iter_chunked", "iter_chunks", "lines", "readuntil"]
)
async def test_every_way_of_reading_works_across_a_seam(asker: Asker, way: str) -> None:
    async with asker.scene([Fault.reset(after_events=12)], policy=AT_ONCE) as scene:
        by_read = await scene.read()
    async with asker.scene([Fault.reset(after_events=12)], policy=AT_ONCE) as scene, scene.post() as response:
        assert await _read(response, way) == by_read


async def _read(response: aiohttp.ClientResponse, way: str) -> bytes:
    content = response.content
    if way == "read":
        return await response.read()
    if way == "text":
        return (await response.text()).encode()
    if way == "readuntil":
        pieces = []
        while not content.at_eof():
            pieces.append(await content.readuntil(b"\n\n"))
        return b"".join(pieces)
    if way == "iter_chunks":
        return b"".join([data async for data, _ in content.iter_chunks()])
    ways = {
        "iter_any": content.iter_any,
        "iter_chunked": lambda: content.iter_chunked(100),
        "lines": lambda: content,
    }
    return b"".join([data async for data in ways[way]()])


class Response(aiohttp.ClientResponse):
    """A caller's own class."""


async def test_the_response_is_the_session_s_own(asker: Asker) -> None:
    async with asker.scene(response_class=Response) as scene, scene.post() as response:
        assert type(response) is Response
        assert isinstance(response.content, aiohttp.StreamReader)
        assert response.headers["x-seamstream-run-id"]
        raw = {name.lower(): value for name, value in response.raw_headers}
        assert raw[b"x-seamstream-run-id"].decode() == response.headers["x-seamstream-run-id"]
        assert b"content-length" not in raw
        assert "content-length" not in response.headers
        await response.read()
    assert scene.runs[0].run_id == response.headers["x-seamstream-run-id"]


async def test_a_length_that_may_not_hold_is_not_shown(asker: Asker) -> None:
    async with asker.scene(server={"framing": "content-length"}) as scene, scene.post() as response:
        assert "content-length" not in response.headers
        assert all(name.lower() != b"content-length" for name, _ in response.raw_headers)
        assert await response.read() == await asker.unbroken()


async def test_streams_are_asked_for_uncompressed(asker: Asker) -> None:
    compressing = {"delivery": Delivery(gzip="asked")}
    async with asker.scene(server=compressing) as scene:
        assert await scene.read() == await asker.unbroken()
    assert scene.requests[0].headers["accept-encoding"] == "identity"


@pytest.mark.parametrize("decompress", [True, False])
async def test_a_stream_that_is_compressed_all_the_same_is_left_alone(asker: Asker, decompress: bool) -> None:
    compressing = {"delivery": Delivery(gzip="always")}
    async with (
        asker.scene(server=compressing, auto_decompress=decompress) as scene,
        asker.scene(server=compressing, auto_decompress=decompress, stock=True) as stock,
        scene.post() as response,
    ):
        assert response.headers["content-encoding"] == "gzip"
        assert await response.read() == await stock.read()
    assert scene.runs[0].degraded == "the response is compressed"


@pytest.mark.parametrize("fault", [Fault.html(), Fault.json_body()])
async def test_a_success_that_is_no_stream_passes(asker: Asker, fault: Fault) -> None:
    async with (
        asker.scene([fault]) as scene,
        asker.scene([fault], stock=True) as stock,
        scene.post() as response,
        stock.post() as expected,
    ):
        assert await response.read() == await expected.read()
        assert "x-seamstream-run-id" not in response.headers
        assert response.content_type == expected.content_type
    assert (len(scene.requests), scene.runs[0].kind) == (1, "failed")


async def test_a_request_that_asks_for_no_stream_is_none_of_ours(asker: Asker) -> None:
    plain = {**QUESTION, "stream": False}
    async with asker.scene([Fault.none(), Fault.http_error(503)]) as scene:
        async with scene.post(json=plain) as response:
            assert (await response.json())["object"] == "chat.completion"
        async with scene.post(json=plain) as response:
            assert response.status == 503
            assert "x-should-retry" not in response.headers
    assert (scene.runs, len(scene.requests)) == ([], 2)
    assert "gzip" in scene.requests[0].headers["accept-encoding"]


async def _echo(request: web.Request) -> web.Response:
    """Answers with what it was asked."""
    headers = {name: value for name, value in request.headers.items() if name != "Host"}
    return web.json_response({"method": request.method, "headers": headers, "body": await request.text()})


@pytest.mark.parametrize(
    ("method", "path", "options"),
    [
        ("GET", "/v1/chat/completions", {}),
        ("POST", "/v1/embeddings", {"json": QUESTION}),
        ("POST", "/v1/messages/count_tokens", {"json": QUESTION}),
        ("POST", "/v1/messages", {"data": {"form": "field"}}),
        ("PUT", "/v1/messages", {"json": QUESTION}),
    ],
)
async def test_other_requests_go_out_as_they_are(method: str, path: str, options: dict[str, Any]) -> None:
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", _echo)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}{path}"
    answers = []
    for layers in ((), (RecoveryMiddleware(),)):
        async with (
            aiohttp.ClientSession(middlewares=layers) as session,
            session.request(method, url, **options) as response,
        ):
            answers.append(await response.json())
    await runner.cleanup()
    assert answers[0] == answers[1]


async def test_mode_off_is_stock(asker: Asker) -> None:
    off = RecoveryPolicy(mode="off")
    async with asker.scene([Fault.clean_end(after_events=12)], policy=off) as scene:
        received = await scene.read()
    assert received == bytes(scene.requests[0].sent)
    assert scene.runs == []


async def test_the_environment_switches_it_off(asker: Asker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEAMSTREAM_MODE", "off")
    async with asker.scene() as scene:
        await scene.read()
    assert scene.runs == []


async def test_an_aiohttp_that_is_not_known_means_stock_and_one_warning(
    asker: Asker, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(seamstream.middleware, "problem", "StreamReader has changed")
    with caplog.at_level("WARNING", logger="seamstream"):
        async with asker.scene([Fault.clean_end(after_events=12)]) as scene:
            await scene.read()
    assert scene.runs == []
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "StreamReader has changed" in caplog.text


async def test_a_request_too_large_to_keep_is_only_observed(asker: Asker) -> None:
    small = AT_ONCE.replace(max_retained_request_bytes=50)
    async with asker.scene([Fault.reset(after_events=12)], policy=small) as scene:
        with pytest.raises(aiohttp.ClientPayloadError):
            await scene.read()
    assert len(scene.requests) == 1
    assert scene.runs[0].causes == ("ConnectionReset",)


async def test_a_number_called_n_elsewhere_in_the_request_means_nothing(asker: Asker) -> None:
    """Only the request's own `n` says that several answers are due."""
    tagged = {**QUESTION, "metadata": {"n": 3}}
    async with asker.scene() as scene:
        assert await scene.read(json=tagged) == await asker.unbroken()
    assert scene.runs[0].kind == "complete"


async def test_several_choices_are_waited_for(asker: Asker) -> None:
    two = {**QUESTION, "n": 2}
    async with asker.scene() as scene, asker.scene(stock=True) as stock:
        assert await scene.read(json=two) == await stock.read(json=two)
    assert scene.runs[0].kind == "complete"


async def test_a_stream_without_a_body_ends_at_once(asker: Asker) -> None:
    """aiohttp's C parser gives a stream that ends at once, which is cut; the other one gives none to tap."""

    async def empty(request: web.Request) -> web.Response:
        await request.read()
        return web.Response(body=b"", content_type="text/event-stream")

    app = web.Application()
    app.router.add_post("/v1/messages", empty)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1/messages"
    async with asker.scene(dialect="anthropic", policy=AT_ONCE) as scene:
        async with scene.session.post(url, json=QUESTION) as response:
            tapped = type(response.content) is not aiohttp.streams.EmptyStreamReader
            with pytest.raises(aiohttp.ClientPayloadError) if tapped else contextlib.nullcontext():
                assert await response.read() == b""
        await runner.cleanup()
        assert (await scene.turn()).ended
    ends = ("failed", None) if tapped else ("complete", "the response has no body")
    assert (scene.runs[0].kind, scene.runs[0].degraded) == ends


async def test_a_redirect_is_followed_as_ever(asker: Asker) -> None:
    async with asker.scene() as scene:
        app = web.Application()

        async def move(request: web.Request) -> web.Response:
            raise web.HTTPTemporaryRedirect(scene.url)

        app.router.add_post("/v1/chat/completions", move)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1/chat/completions"
        async with scene.session.post(url, json=QUESTION) as response:
            assert await response.read() == await asker.unbroken()
        await runner.cleanup()
    assert [outcome.kind for outcome in scene.runs] == ["complete"]


@pytest.mark.parametrize("headers", [{"Idempotency-Key": "k7"}, {}])
async def test_each_attempt_has_an_idempotency_key_of_its_own(asker: Asker, headers: dict[str, str]) -> None:
    async with asker.scene([Fault.reset(after_events=12)], policy=AT_ONCE) as scene:
        await scene.read(headers={**headers, "Authorization": "Bearer secret"})
    keys = [exchange.headers.get("idempotency-key") for exchange in scene.requests]
    assert keys == (["k7", "k7-a2"] if headers else [None, None])
    assert {exchange.headers["authorization"] for exchange in scene.requests} == {"Bearer secret"}


async def test_inner_middlewares_run_for_each_attempt_and_outer_ones_once(asker: Asker) -> None:
    calls = []

    def layer(name: str) -> Any:
        async def middleware(request: aiohttp.ClientRequest, handler: Any) -> aiohttp.ClientResponse:
            calls.append(name)
            return await handler(request)  # type: ignore[no-any-return]

        return middleware

    async with asker.scene([Fault.reset(after_events=12)], stock=True) as scene:
        layers = (layer("outer"), RecoveryMiddleware(AT_ONCE), layer("inner"))
        async with (
            aiohttp.ClientSession(middlewares=layers) as session,
            session.post(scene.url, json=QUESTION) as response,
        ):
            await response.read()
    assert calls == ["outer", "inner", "inner"]
