"""Reported cases of the HTTP layer on real sockets: answers that are no stream, bodies that end too early."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest

import seamstream
from seamstream import HttpFailureError, NotAnEventStream, ProfileBook, RecoveryMiddleware, RecoveryPolicy
from seamstream.testing import Answer, DeterministicModel, Ending, Fault, FaultServer, Text
from tests.corpus.chat_wire import request

ASKED = request("Which way to the harbour?")
HTML = b"<html><head><title>Sign in</title></head>\n<body>please log on</body></html>\n"
CALL = b'{"id":"c1","type":"function","function":{"name":"dig","arguments":"{\\"m\\":2}"}}'
DOCUMENT = b'{"choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[' + CALL
DOCUMENT += b']},"finish_reason":"tool_calls"}]}'
MOSS = b'data: {"choices":[{"index":0,"delta":{"content":"moss"}}]}\n\n'
STREAMED = {"content-type": "text/event-stream"}
NO_RECOVERY = RecoveryPolicy(max_recoveries=0)


def _answered(body: bytes, content_type: str, ending: Ending = Ending.COMPLETE) -> Fault:
    return Fault(ending, body=body, headers={"content-type": content_type})


@asynccontextmanager
async def _server(*script: Fault) -> AsyncIterator[tuple[FaultServer, str]]:
    model = DeterministicModel(Answer((Text(("Down ", "the hill.")),)))
    async with asyncio.timeout(20), FaultServer(model, script) as server:
        yield server, server.url_for("openai-chat")


async def _typed(url: str, policy: RecoveryPolicy) -> list[Any]:
    async with (
        aiohttp.ClientSession() as session,
        seamstream.stream(session, url, json=ASKED, policy=policy, profiles=ProfileBook()) as run,
    ):
        return [event async for event in run]


@pytest.mark.parametrize(
    ("body", "content_type", "excerpt"),
    [(HTML, "text/html; charset=utf-8", "Sign in"), (DOCUMENT, "application/json", '"name":"dig"')],
    ids=["B19 a login page", "B20 one JSON document"],
)
async def test_b19_b20_an_answer_that_is_no_stream_is_an_error_of_its_own(
    body: bytes, content_type: str, excerpt: str
) -> None:
    """No truncation, no retry: status, content type and the beginning of the body are told."""
    async with _server(_answered(body, content_type)) as (server, url):
        with pytest.raises(NotAnEventStream) as caught:
            await _typed(url, RecoveryPolicy())
        assert len(server.requests) == 1
    assert (caught.value.status, caught.value.content_type) == (200, content_type)
    assert excerpt in caught.value.excerpt


@pytest.mark.parametrize("body", [HTML, DOCUMENT], ids=["B19", "B20"])
async def test_b19_b20_the_middleware_passes_such_an_answer_on_as_it_is(body: bytes) -> None:
    middleware = RecoveryMiddleware(profiles=ProfileBook())
    async with (
        _server(_answered(body, "application/json")) as (server, url),
        aiohttp.ClientSession(middlewares=[middleware]) as session,
        session.post(url, json=ASKED) as response,
    ):
        assert (response.status, await response.read()) == (200, body)
        assert len(server.requests) == 1


async def test_b20_a_json_body_with_an_error_becomes_that_error() -> None:
    body = b'{"error":{"message":"the key is not valid","type":"invalid_request_error","code":null}}'
    async with _server(_answered(body, "application/json")) as (_, url):
        with pytest.raises(HttpFailureError, match="the key is not valid"):
            await _typed(url, RecoveryPolicy())


@pytest.mark.parametrize(
    "fault",
    [
        Fault(Ending.FIN, body=MOSS, headers=STREAMED),
        Fault(
            Ending.FIN,
            body=MOSS + b"data: {",
            after_bytes=len(MOSS),
            framing="content-length",
            headers=STREAMED,
        ),
        Fault(Ending.RESET, body=MOSS, headers=STREAMED),
    ],
    ids=["chunked", "content-length", "reset"],
)
async def test_b30_a_body_that_ends_too_early_raises_with_the_partial_and_the_cause(fault: Fault) -> None:
    middleware = RecoveryMiddleware(NO_RECOVERY, profiles=ProfileBook())
    async with (
        _server(fault) as (_, url),
        aiohttp.ClientSession(middlewares=[middleware]) as session,
        session.post(url, json=ASKED) as response,
    ):
        with pytest.raises(seamstream.StreamCutError) as caught:
            await response.read()
    assert isinstance(caught.value, aiohttp.ClientPayloadError)
    assert caught.value.turn is not None
    assert caught.value.turn.text == "moss"
    assert isinstance(caught.value.__cause__, aiohttp.ClientPayloadError)
