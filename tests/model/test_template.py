"""Facts about the model server that every other figure of this folder rests on, checked without seamstream.

A continuation by prefill is only worth something if the server really keeps the trailing assistant turn open.
Many chat templates close it, and the model then begins a new turn: nobody says so, the text is merely wrong.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from .llama_server import LlamaServer
from .spoken import DIALECTS, Dialect
from .tcp_proxy import Break, Cut, CutProxy

pytestmark = pytest.mark.model

QUESTION = "The planets of the solar system, one on each line:"
PREFIXES = (
    "* Mercury\n* Venus",
    "* Mercury\n* ",
    "* Mercury\n",
    "  * 東京 and K\u00f6",
    "😀",
)
TOKENS = 4


@pytest.fixture
async def client() -> AsyncIterator[aiohttp.ClientSession]:
    # llama.cpp closes the connection after a stream without announcing it, so that a kept one may be dead.
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(force_close=True)) as session:
        yield session


async def post(client: aiohttp.ClientSession, url: str, body: dict[str, Any]) -> bytes:
    async with client.post(url, json=body) as response:
        assert response.status == 200, await response.text()
        return await response.read()


async def post_json(client: aiohttp.ClientSession, url: str, body: dict[str, Any]) -> dict[str, Any]:
    async with client.post(url, json=body) as response:
        answer: dict[str, Any] = await response.json()
        return answer


def prefilled(dialect: Dialect, prefix: str) -> dict[str, Any]:
    request = dialect.request(QUESTION, TOKENS)
    request["messages"].append({"role": "assistant", "content": prefix})
    return request


@pytest.mark.parametrize("prefix", PREFIXES)
@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
async def test_the_answer_to_a_prefill_begins_right_after_it(
    llama: LlamaServer, client: aiohttp.ClientSession, dialect: Dialect, prefix: str
) -> None:
    request = prefilled(dialect, prefix)
    rendered = (await post_json(client, f"{llama.url}/apply-template", request))["prompt"]
    assert rendered == f"{QUESTION}\n\n{prefix}"
    raw = {"prompt": rendered, "n_predict": TOKENS, "temperature": 0, "seed": 1}
    completion = await post_json(client, f"{llama.url}/completion", raw)
    answer = dialect.read(await post(client, llama.url + dialect.path, request))
    assert answer.text == completion["content"]


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
async def test_the_same_request_has_the_same_answer(
    llama: LlamaServer, client: aiohttp.ClientSession, dialect: Dialect
) -> None:
    request = dialect.request(QUESTION, 2 * TOKENS)
    url = llama.url + dialect.path
    answers = [dialect.read(await post(client, url, request)) for _ in range(2)]
    assert answers[0] == answers[1]


@pytest.mark.parametrize("how", Break)
@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
async def test_the_proxy_breaks_a_live_answer_and_the_server_goes_on(
    llama: LlamaServer, client: aiohttp.ClientSession, proxy: CutProxy, dialect: Dialect, how: Break
) -> None:
    request = dialect.request(QUESTION, TOKENS)
    whole = await post(client, proxy.url + dialect.path, request)
    proxy.script(Cut(len(whole) // 2, how))
    received = bytearray()
    try:
        async with client.post(proxy.url + dialect.path, json=request) as response:
            async for data in response.content.iter_any():
                received += data
        assert how is Break.END, "the break went unnoticed"
    except aiohttp.ClientError:
        assert how is not Break.END
    assert len(received) == len(whole) // 2
    assert dialect.read(await post(client, proxy.url + dialect.path, request)) == dialect.read(whole)


async def test_killed_and_started_again_it_serves_on_the_same_port(
    llama: LlamaServer, client: aiohttp.ClientSession
) -> None:
    url, pid = llama.url, llama.pid
    llama.kill()
    llama.start()
    assert (llama.url, llama.pid != pid) == (url, True)
    async with client.get(f"{llama.url}/health") as response:
        assert response.status == 200
