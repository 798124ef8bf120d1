"""Answers of a real model, cut on the connection and recovered by the middleware.

What is asserted is what recovery promises: the reader has every character that had arrived, followed by what
the model itself says to that beginning, and nothing else. That this often is the answer that would have come
anyway is luck (the prefix is tokenised anew), so it is counted and printed, not asserted.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import AsyncIterator

import aiohttp
import pytest

import seamstream

from .figures import Figures
from .llama_server import LlamaServer
from .spoken import CHAT, DIALECTS, Answer, Dialect
from .tcp_proxy import Break, Cut, CutProxy

pytestmark = pytest.mark.model

PROMPTS = {
    "lines": "The planets of the solar system, one on each line:",
    "umlauts": "Die Geschichte der Stadt Köln",
    "kanji": "東京都の歴史",
}
MAX_TOKENS = 18
CUTS_PER_PROMPT = 7
FEW_TOKENS = 6
BREAKS = tuple(Break)

by_dialect = pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)


@pytest.fixture
async def plain() -> AsyncIterator[aiohttp.ClientSession]:
    """A client without seamstream, for the unbroken answers and for asking the model the same thing again."""
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(force_close=True)) as session:
        yield session


# llama.cpp goes on in a trailing assistant turn, which seamstream does not assume of an unknown chat server.
PROFILES = [seamstream.Profile(("prefill",), dialect="openai-chat")]
POLICY = seamstream.RecoveryPolicy(backoff=seamstream.BackoffPolicy(first_s=0.01, max_s=0.01))


@pytest.fixture
async def recovering() -> AsyncIterator[aiohttp.ClientSession]:
    middleware = seamstream.RecoveryMiddleware(POLICY, profiles=PROFILES)
    async with aiohttp.ClientSession(middlewares=[middleware]) as session:
        yield session


async def fetch(client: aiohttp.ClientSession, url: str, body: bytes) -> bytes:
    headers = {"Content-Type": "application/json"}
    async with client.post(url, data=body, headers=headers) as response:
        assert response.status == 200
        return await response.read()


def cut_places(answer: Answer, count: int) -> list[int]:
    """Body bytes spread evenly over the text, from just after its first piece to just before its last one."""
    first, last = answer.text_ends[0], answer.text_ends[-2]
    return [first + (last - first) * step // count for step in range(count)]


def joined(shown: str, prefill: str, continuation: str) -> str:
    """The one right answer; `continuation` was said to `prefill`, which is `shown` without its end blanks."""
    blanks = shown.removeprefix(prefill)
    rest = continuation.lstrip()
    leading = continuation.removesuffix(rest)
    return prefill + continuation if leading.startswith(blanks) else shown + rest


@by_dialect
@pytest.mark.parametrize("prompt", PROMPTS.values(), ids=PROMPTS.keys())
async def test_a_cut_answer_goes_on_as_the_model_goes_on(
    llama: LlamaServer,
    proxy: CutProxy,
    plain: aiohttp.ClientSession,
    recovering: aiohttp.ClientSession,
    figures: Figures,
    dialect: Dialect,
    prompt: str,
) -> None:
    request = json.dumps(dialect.request(prompt, MAX_TOKENS)).encode()
    unbroken = dialect.read(await fetch(plain, llama.url + dialect.path, request))
    for at_byte, how in zip(cut_places(unbroken, CUTS_PER_PROMPT), itertools.cycle(BREAKS), strict=False):
        proxy.script(Cut(at_byte, how))
        with seamstream.capture() as outcomes:
            answer = dialect.read(await fetch(recovering, proxy.url + dialect.path, request))
        assert [(outcome.kind, outcome.joins) for outcome in outcomes] == [("recovered", ("prefill",))]
        cut, continued = proxy.exchanges
        assert cut.broken
        shown, prefill = dialect.partial_text(cut.response_body), dialect.prefill(continued.request_body)
        assert prefill == shown.rstrip()
        left = MAX_TOKENS - dialect.pieces(cut.response_body)
        assert json.loads(continued.request_body)["max_tokens"] == left
        own = dialect.read(await fetch(plain, llama.url + dialect.path, continued.request_body))
        assert answer.text == joined(shown, prefill, own.text), f"{how} at byte {at_byte}"
        assert answer.stop == own.stop
        figures.note(dialect.name, as_unbroken=answer.text == unbroken.text)


@by_dialect
async def test_cut_twice(
    llama: LlamaServer,
    proxy: CutProxy,
    plain: aiohttp.ClientSession,
    recovering: aiohttp.ClientSession,
    dialect: Dialect,
) -> None:
    request = json.dumps(dialect.request(PROMPTS["umlauts"], MAX_TOKENS)).encode()
    unbroken = dialect.read(await fetch(plain, llama.url + dialect.path, request))
    first, second = unbroken.text_ends[5], unbroken.text_ends[3]
    proxy.script(Cut(first), Cut(second))
    answer = dialect.read(await fetch(recovering, proxy.url + dialect.path, request))
    parts = [dialect.partial_text(exchange.response_body) for exchange in proxy.exchanges]
    prefills = [dialect.prefill(exchange.request_body) for exchange in proxy.exchanges]
    assert prefills == ["", parts[0].rstrip(), (parts[0] + parts[1]).rstrip()]
    own = dialect.read(await fetch(plain, llama.url + dialect.path, proxy.exchanges[2].request_body))
    assert answer.text == joined(parts[0] + parts[1], prefills[2], own.text)


@by_dialect
async def test_cut_before_any_text_is_asked_again(
    llama: LlamaServer,
    proxy: CutProxy,
    plain: aiohttp.ClientSession,
    recovering: aiohttp.ClientSession,
    dialect: Dialect,
) -> None:
    request = json.dumps(dialect.request(PROMPTS["lines"], FEW_TOKENS)).encode()
    unbroken = dialect.read(await fetch(plain, llama.url + dialect.path, request))
    for at_byte in (0, 1, 100):
        proxy.script(Cut(at_byte))
        answer = dialect.read(await fetch(recovering, proxy.url + dialect.path, request))
        assert (answer.text, answer.stop) == (unbroken.text, unbroken.stop)
        assert [exchange.request_body for exchange in proxy.exchanges] == [request, request]


@pytest.mark.parametrize("how", BREAKS)
async def test_cut_after_the_finish_reason_is_finished_without_asking(
    llama: LlamaServer,
    proxy: CutProxy,
    plain: aiohttp.ClientSession,
    recovering: aiohttp.ClientSession,
    how: Break,
) -> None:
    request = json.dumps(CHAT.request(PROMPTS["lines"], FEW_TOKENS)).encode()
    whole = await fetch(plain, llama.url + CHAT.path, request)
    proxy.script(Cut(len(whole.removesuffix(b"data: [DONE]\n\n")), how))
    answer = CHAT.read(await fetch(recovering, proxy.url + CHAT.path, request))
    assert (answer.text, answer.stop) == (CHAT.read(whole).text, CHAT.read(whole).stop)
    assert len(proxy.exchanges) == 1


@by_dialect
async def test_the_typed_stream_tells_where_the_parts_meet(
    llama: LlamaServer, proxy: CutProxy, plain: aiohttp.ClientSession, dialect: Dialect
) -> None:
    body = dialect.request(PROMPTS["umlauts"], MAX_TOKENS)
    unbroken = dialect.read(await fetch(plain, llama.url + dialect.path, json.dumps(body).encode()))
    proxy.script(Cut(unbroken.text_ends[7]))
    url = proxy.url + dialect.path
    async with seamstream.stream(plain, url, json=body, policy=POLICY, profiles=PROFILES) as run:
        events = [event async for event in run]
    cut, continued = proxy.exchanges
    shown = dialect.partial_text(cut.response_body)
    own = dialect.read(await fetch(plain, llama.url + dialect.path, continued.request_body))
    told = "".join(event.text for event in events if isinstance(event, seamstream.TextDelta))
    assert told == run.turn.text == joined(shown, dialect.prefill(continued.request_body), own.text)
    seams = [(event.offset, event.join) for event in events if isinstance(event, seamstream.Seam)]
    assert seams == [(len(shown), "prefill")]


@by_dialect
async def test_a_server_that_closes_kept_connections_unannounced_costs_no_answer(
    llama: LlamaServer, recovering: aiohttp.ClientSession, dialect: Dialect
) -> None:
    """llama.cpp does so after each stream; stock aiohttp fails about every second request to it."""
    request = json.dumps(dialect.request(PROMPTS["lines"], FEW_TOKENS)).encode()
    answers = {dialect.read(await fetch(recovering, llama.url + dialect.path, request)) for _ in range(4)}
    assert len(answers) == 1
