"""google-genai, unmodified, over `wrap` and over an aiohttp session with the middleware: one whole answer."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import aiohttp
import pytest
from google import genai
from google.genai import types

import seamstream
from seamstream import Profile, ProfileBook
from seamstream.httpx import RecoveryTransport, SyncRecoveryTransport
from seamstream.testing import Ending, Fault, FaultServer
from tests.corpus import CorpusStream, by_name
from tests.support.gemini_reading import GeminiFold
from tests.support.interactions_reading import InteractionsFold
from tests.support.provider import Responder
from tests.support.reading import Reading
from tests.support.turns import turn_of

Over = Literal["aiohttp", "async wrap", "sync wrap"]
PATIENCE_S = 60.0
POLICY = seamstream.RecoveryPolicy.chat()


@dataclass(frozen=True)
class Case:
    """A stream that breaks behind so many thousandths of its bytes, and the plan that this takes."""

    name: str
    place: int
    ending: Ending
    plan: str
    strategy: Literal["prefill", "prompt"] = "prefill"

    @property
    def stream(self) -> CorpusStream:
        return by_name(self.name)

    def __str__(self) -> str:
        return f"{self.name}-{self.plan}-{self.ending.value}-{self.strategy}"


CASES = [
    Case("gemini_text_plain", 500, Ending.FIN, "R1"),
    Case("gemini_text_emoji_cjk", 700, Ending.CLEAN_END, "R1", "prompt"),
    Case("gemini_text_code", 800, Ending.BAD_CHUNK_SIZE, "R1"),
    Case("gemini_text_length", 600, Ending.FIN, "R1"),
    Case("gemini_thoughts", 300, Ending.CLEAN_END, "R4"),
    Case("gemini_tool_pieces", 300, Ending.FIN, "R3", "prompt"),
    Case("gemini_tool_one", 300, Ending.FIN, "R4"),
    Case("interactions_text_plain", 600, Ending.FIN, "R1", "prompt"),
    Case("interactions_text_code", 700, Ending.CLEAN_END, "R1", "prompt"),
    Case("interactions_text_then_tool", 750, Ending.FIN, "R3", "prompt"),
    Case("interactions_tool_one", 500, Ending.BAD_CHUNK_SIZE, "R4", "prompt"),
    Case("interactions_thoughts", 500, Ending.FIN, "R4", "prompt"),
]


def _client(url: str, **options: Any) -> genai.Client:
    return genai.Client(api_key="k", http_options=types.HttpOptions(base_url=url, **options))


def _asked(stream: CorpusStream) -> dict[str, Any]:
    request = stream.request
    if stream.dialect == "gemini-interactions":
        return dict(request)
    limit = request["generationConfig"]["maxOutputTokens"]
    config = types.GenerateContentConfig(max_output_tokens=limit)
    return {"model": "m", "contents": request["contents"][0]["parts"][0]["text"], "config": config}


async def _read_async(client: genai.Client, stream: CorpusStream) -> Reading:
    if stream.dialect == "gemini-interactions":
        steps = InteractionsFold()
        async for event in await client.aio.interactions.create(**_asked(stream)):
            steps.add(event)
        return steps.reading()
    fold = GeminiFold()
    async for chunk in await client.aio.models.generate_content_stream(**_asked(stream)):
        fold.add(chunk)
    return fold.reading()


def _read_sync(client: genai.Client, stream: CorpusStream) -> Reading:
    if stream.dialect == "gemini-interactions":
        steps = InteractionsFold()
        for event in client.interactions.create(**_asked(stream)):
            steps.add(event)
        return steps.reading()
    fold = GeminiFold()
    for chunk in client.models.generate_content_stream(**_asked(stream)):
        fold.add(chunk)
    return fold.reading()


async def _read(case: Case, over: Over, url: str) -> Reading:
    book = ProfileBook([Profile(("prefill", "prompt") if case.strategy == "prefill" else ("prompt",))])
    if over == "aiohttp":
        middleware = seamstream.RecoveryMiddleware(POLICY, profiles=book)
        async with aiohttp.ClientSession(middlewares=[middleware]) as session:
            return await _read_async(_client(url, aiohttp_client=session), case.stream)
    client = _client(url)
    wrapped = seamstream.wrap(client, POLICY, profiles=book)
    try:
        if over == "async wrap":
            return await _read_async(wrapped, case.stream)
        return await asyncio.to_thread(_read_sync, wrapped, case.stream)
    finally:
        await client.aio.aclose()
        client.close()


def _ways() -> Iterator[tuple[Case, Over]]:
    """google-genai sends interactions through httpx only, so an aiohttp session never sees them."""
    for case in CASES:
        yield case, "async wrap"
        yield case, "sync wrap"
        if case.stream.dialect == "gemini":
            yield case, "aiohttp"


@pytest.mark.parametrize(("case", "over"), list(_ways()), ids=str)
async def test_an_unmodified_sdk_reads_one_whole_answer(case: Case, over: Over) -> None:
    fault = Fault(case.ending, after_bytes=len(case.stream.data) * case.place // 1000)
    with seamstream.capture() as runs:
        async with asyncio.timeout(PATIENCE_S), FaultServer(Responder(case.stream), [fault]) as server:
            reading = await _read(case, over, server.url)
            requests = len(server.requests)
    whole = turn_of(case.stream.dialect, case.stream.data)
    assert (runs[0].kind, runs[0].plan, requests) == ("recovered", case.plan, 2)
    assert reading.answers == whole.answers
    assert len(reading.ids) == 1


def test_wrap_gives_the_same_class_and_turns_its_retries_off() -> None:
    client = _client("http://127.0.0.1:9", retry_options=types.HttpRetryOptions(attempts=5))
    wrapped = seamstream.wrap(client)
    api, before = wrapped._api_client, client._api_client
    assert type(wrapped) is genai.Client
    assert isinstance(api._httpx_client._transport, SyncRecoveryTransport)
    assert isinstance(api._async_httpx_client._transport, RecoveryTransport)
    assert wrapped.models._api_client is wrapped.aio.models._api_client is api
    assert client.models._api_client is before
    assert before._http_options.retry_options is not None
    assert api._http_options.retry_options is None
    assert not api._use_aiohttp()
    with pytest.raises(seamstream.ConfigurationError, match="wrapped already"):
        seamstream.wrap(wrapped)


async def test_a_session_of_the_users_gets_the_middleware_instead() -> None:
    async with aiohttp.ClientSession() as session:
        with pytest.raises(seamstream.ConfigurationError, match="middlewares="):
            seamstream.wrap(_client("http://127.0.0.1:9", aiohttp_client=session))
