"""A later request that names a response which its provider knows by another id, or has only in parts."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

import aiohttp
import httpx2
import pytest

import seamstream
from seamstream.httpx import RecoveryTransport, SyncRecoveryTransport
from seamstream.testing import Answer, DeterministicModel, Dialect, Fault, FaultServer, Text
from seamstream.testing.model import Reply

ANSWER = Answer((Text(("The ", "tide ", "turns ", "at ", "six ", "today, ", "and ", "so ", "it ", "goes.")),))
BODY = {"model": "test-1", "input": "When?", "stream": True}
POLICY = seamstream.RecoveryPolicy(
    backoff=seamstream.BackoffPolicy(first_s=0.0, max_s=0.0), hold_preamble_s=0.05, first_content_s=0.3
)
IN_THE_TEXT, BEFORE_IT = Fault.reset(after_text=b"today"), Fault.stall(after_events=2)


class Model:
    """A model whose responses have an id each."""

    def reply(self, dialect: Dialect, body: dict[str, Any]) -> Reply:
        reply, own = DeterministicModel(ANSWER).reply(dialect, body), f'"resp_{uuid4().hex}_'.encode()
        return replace(reply, events=[event.replace(b'"resp_', own) for event in reply.events])


@dataclass
class Got:
    """A response as any client shows it."""

    status: int
    body: bytes
    json: Any


Ask = Callable[[str, dict[str, Any]], Awaitable[Got]]


async def _by_aiohttp(url: str, body: dict[str, Any]) -> Got:
    async with (
        aiohttp.ClientSession(middlewares=[seamstream.RecoveryMiddleware(POLICY)]) as session,
        session.post(url, json=body) as response,
    ):
        data = await response.read()
        return Got(response.status, data, await response.json() if response.status == 400 else None)


async def _by_httpx(url: str, body: dict[str, Any]) -> Got:
    async with httpx2.AsyncClient(transport=RecoveryTransport(policy=POLICY)) as client:
        response = await client.post(url, json=body)
        return Got(response.status_code, response.content, response.json() if response.is_error else None)


async def _by_sync_httpx(url: str, body: dict[str, Any]) -> Got:
    def ask() -> Got:
        with httpx2.Client(transport=SyncRecoveryTransport(policy=POLICY)) as client:
            response = client.post(url, json=body)
            return Got(response.status_code, response.content, response.json() if response.is_error else None)

    return await asyncio.to_thread(ask)


by_client = pytest.mark.parametrize("ask", [_by_aiohttp, _by_httpx, _by_sync_httpx])


def _first_id(data: bytes) -> str:
    return data.partition(b'"response":{"id":"')[2].partition(b'"')[0].decode()


@pytest.mark.parametrize("ask", [_by_aiohttp, _by_httpx])
async def test_a_restarted_response_is_named_by_the_id_that_its_provider_has(ask: Ask) -> None:
    """A blocking client is not among them: it never shows a preamble before the first content."""
    async with FaultServer(Model(), [BEFORE_IT]) as server:
        url = server.url_for("openai-responses")
        first = await ask(url, BODY)
        assert len(server.requests) == 2
        shown, kept = _first_id(first.body), _first_id(bytes(server.requests[1].sent))
        assert shown == _first_id(bytes(server.requests[0].sent)) != kept
        await ask(url, {**BODY, "previous_response_id": shown})
        assert server.requests[-1].body == {**BODY, "previous_response_id": kept}


@by_client
async def test_going_on_from_a_joined_response_is_refused_and_never_sent(ask: Ask) -> None:
    async with FaultServer(Model(), [IN_THE_TEXT]) as server:
        url = server.url_for("openai-responses")
        shown = _first_id((await ask(url, BODY)).body)
        sent = len(server.requests)
        got = await ask(url, {**BODY, "previous_response_id": shown})
        assert got.status == 400
        error = got.json["error"]
        assert (error["type"], error["param"]) == ("invalid_request_error", "previous_response_id")
        assert error["code"] == "previous_response_stitched"
        assert shown in error["message"]
        assert len(server.requests) == sent == 2


@by_client
async def test_other_requests_stay_as_they_are(ask: Ask) -> None:
    async with FaultServer(Model()) as server:
        url = server.url_for("openai-responses")
        shown = _first_id((await ask(url, BODY)).body)
        body = {**BODY, "previous_response_id": shown}
        assert (await ask(url, body)).status == 200
        assert server.requests[-1].body == body


async def test_a_typed_reader_is_refused_with_the_same_words() -> None:
    async with FaultServer(Model(), [IN_THE_TEXT]) as server:
        url = server.url_for("openai-responses")
        shown = _first_id((await _by_aiohttp(url, BODY)).body)
        async with aiohttp.ClientSession() as session:
            run = seamstream.stream(session, url, json={**BODY, "previous_response_id": shown}, policy=POLICY)
            with pytest.raises(seamstream.HttpFailureError, match="only in parts") as caught:
                await run.__aenter__()
    assert caught.value.status == 400
