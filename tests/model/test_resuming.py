"""Answers of a real model whose server keeps their streams: cut, and taken up again at the very byte."""

from __future__ import annotations

import itertools
import json

import aiohttp
import pytest

import seamstream

from .figures import Figures
from .llama_server import LlamaServer
from .spoken import CHAT, MODEL
from .tcp_proxy import Break, Cut, CutProxy
from .test_recovery import fetch, joined

pytestmark = pytest.mark.model

PROMPT = "The planets of the solar system, one on each line:"
MAX_TOKENS = 14
CUTS = 6
POLICY = seamstream.RecoveryPolicy(backoff=seamstream.BackoffPolicy(first_s=0.01, max_s=0.01))
TURNS = [{"role": "user", "content": PROMPT}]
COMMON = {"model": MODEL, "temperature": 0, "seed": 1, "stream": True}
REQUESTS = {
    "/v1/chat/completions": {**COMMON, "messages": TURNS, "max_tokens": MAX_TOKENS},
    "/v1/messages": {**COMMON, "messages": TURNS, "max_tokens": MAX_TOKENS},
    "/v1/responses": {**COMMON, "input": PROMPT, "max_output_tokens": MAX_TOKENS},
}


async def _fetch(client: aiohttp.ClientSession, url: str, path: str, name: str) -> bytes:
    headers = {"Content-Type": "application/json", "X-Conversation-Id": name}
    async with client.post(url + path, data=json.dumps(REQUESTS[path]), headers=headers) as response:
        assert response.status == 200
        return await response.read()


async def _kept(client: aiohttp.ClientSession, llama: LlamaServer, name: str) -> bytes:
    """The stream as the server itself has kept it."""
    async with client.get(f"{llama.url}/v1/stream", params={"conv_id": name, "from": "0"}) as response:
        assert response.status == 200
        return await response.read()


@pytest.mark.parametrize("path", REQUESTS)
async def test_a_kept_stream_goes_on_at_the_byte_where_it_was_cut(
    llama: LlamaServer, proxy: CutProxy, figures: Figures, path: str
) -> None:
    middleware = seamstream.RecoveryMiddleware(POLICY)
    async with (
        aiohttp.ClientSession(middlewares=[middleware]) as recovering,
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(force_close=True)) as plain,
    ):
        length = len(await _fetch(plain, llama.url, path, "whole"))
        for number, how in zip(range(CUTS), itertools.cycle(Break), strict=False):
            name, place = f"{path}-{number}", length * (number + 1) // (CUTS + 2) + number
            proxy.script(Cut(place, how))
            with seamstream.capture() as outcomes:
                got = await _fetch(recovering, proxy.url, path, name)
            assert proxy.exchanges[0].broken
            assert proxy.exchanges[1].request_line.startswith("GET /v1/stream?")
            assert got == await _kept(plain, llama, name), f"{how} at byte {place}"
            assert [(outcome.kind, outcome.joins) for outcome in outcomes] == [("recovered", ("native",))]
            figures.note(f"{path} resumed", as_unbroken=True)


@pytest.mark.parametrize("path", REQUESTS)
async def test_a_typed_reader_hears_where_it_was_taken_up(
    llama: LlamaServer, proxy: CutProxy, path: str
) -> None:
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(force_close=True)) as plain:
        length = len(await _fetch(plain, llama.url, path, "typed-whole"))
        name = f"typed-{path}"
        proxy.script(Cut(length // 2))
        body, headers = REQUESTS[path], {"X-Conversation-Id": name}
        async with seamstream.stream(
            plain, proxy.url + path, json=body, headers=headers, policy=POLICY
        ) as run:
            events = [event async for event in run]
        assert [event.join for event in events if isinstance(event, seamstream.Seam)] == ["native"]
        assert run.turn.text
        assert run.turn.usage.output_tokens == MAX_TOKENS
        told = "".join(event.text for event in events if isinstance(event, seamstream.TextDelta))
        assert told == run.turn.text


async def test_a_stream_that_died_with_its_server_is_continued_from_its_text(
    llama: LlamaServer, proxy: CutProxy
) -> None:
    """SIGKILL in the middle of the answer: the server that comes back on its port knows of no stream."""
    profiles = [seamstream.Profile(("continue-final-message", "prefill"), dialect="openai-chat")]
    middleware = seamstream.RecoveryMiddleware(POLICY, profiles=profiles)
    path = "/v1/chat/completions"
    headers = {"Content-Type": "application/json", "X-Conversation-Id": "killed"}
    async with aiohttp.ClientSession(middlewares=[middleware]) as recovering:
        with seamstream.capture() as outcomes:
            async with recovering.post(
                llama.url + path, data=json.dumps(REQUESTS[path]), headers=headers
            ) as response:
                got = await response.content.readany()
                while got.count(b'"content":"') < 3:
                    got += await response.content.readany()
                llama.kill()
                llama.start()
                got += await response.read()
    assert got.endswith(b"data: [DONE]\n\n")
    assert got.count(b'"finish_reason":"length"') == 1
    assert [(outcome.kind, outcome.joins) for outcome in outcomes] == [("recovered", ("prefill",))]


async def test_an_answer_goes_on_by_a_continued_final_message(llama: LlamaServer, proxy: CutProxy) -> None:
    """The server's own switch: what follows is what it says to the very same request."""
    profiles = [seamstream.Profile(("continue-final-message",), dialect="openai-chat")]
    middleware = seamstream.RecoveryMiddleware(POLICY, profiles=profiles)
    async with (
        aiohttp.ClientSession(middlewares=[middleware]) as recovering,
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(force_close=True)) as plain,
    ):
        request = json.dumps(REQUESTS[CHAT.path]).encode()
        whole = CHAT.read(await fetch(plain, llama.url + CHAT.path, request))
        for place in whole.text_ends[2:8:2]:
            proxy.script(Cut(place))
            answer = CHAT.read(await fetch(recovering, proxy.url + CHAT.path, request))
            cut, continued = proxy.exchanges
            document = json.loads(continued.request_body)
            assert (document["continue_final_message"], document["add_generation_prompt"]) == (True, False)
            shown, prefill = CHAT.partial_text(cut.response_body), CHAT.prefill(continued.request_body)
            own = CHAT.read(await fetch(plain, llama.url + CHAT.path, continued.request_body))
            assert answer.text == joined(shown, prefill, own.text)
