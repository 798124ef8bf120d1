"""Fifty cuts in answers of a model that was taught to chat, gone on with by asking it in words.

So small a model does what it is asked about every other time, which is what makes it a good witness: half of
its replies must be refused. How often it obeys is counted and printed; what is asserted is that no reader was
ever lied to: nothing said twice at a seam, nothing lost at it, no answer that ends early and looks whole.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import AsyncIterator

import aiohttp
import pytest

from .figures import Figures
from .llama_server import LlamaServer
from .prompting import End, Reader, common_stop, tell
from .spoken import DIALECTS, Answer, Dialect
from .tcp_proxy import Break, Cut, CutProxy

pytestmark = pytest.mark.model

QUESTIONS = {
    "rain": "Explain in four sentences how rain forms.",
    "story": "Write a short story about a lighthouse keeper.",
    "steps": "How do I cook rice? Give numbered steps.",
    "list": "List the planets of the solar system in one sentence.",
    "code": "Write a Python function that reverses a string, and explain it.",
}
MAX_TOKENS = 24
CUTS = 5
ANCHOR_CHARS = 24
WAYS = itertools.cycle(itertools.product(Break, Reader))
"""Goes on over all the tests, so that each kind of reader and of break has its share of each."""


@pytest.fixture
async def proxy(chat_model: LlamaServer) -> AsyncIterator[CutProxy]:
    async with CutProxy(chat_model.port) as cut_proxy:
        yield cut_proxy


@pytest.fixture
async def plain() -> AsyncIterator[aiohttp.ClientSession]:
    # llama.cpp closes the connection after a stream without announcing it.
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(force_close=True)) as session:
        yield session


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS.keys())
async def test_no_reader_is_lied_to(
    chat_model: LlamaServer,
    proxy: CutProxy,
    plain: aiohttp.ClientSession,
    figures: Figures,
    dialect: Dialect,
    question: str,
) -> None:
    request = json.dumps(dialect.request(question, MAX_TOKENS)).encode()
    async with plain.post(chat_model.url + dialect.path, data=request) as response:
        unbroken = dialect.read(await response.read())
    for number, (how, reader) in zip(range(CUTS), WAYS, strict=False):
        ends = unbroken.text_ends
        proxy.script(Cut(ends[(number + 1) * len(ends) // (CUTS + 1)], how))
        told = await tell(reader, plain, proxy, dialect, request)
        figures.note_end(reader.value, told.end)
        cut, asked, *more = proxy.exchanges
        assert cut.broken
        assert not any(exchange.broken for exchange in (asked, *more))
        shown = dialect.partial_text(cut.response_body)
        if told.end is End.RESTARTED:
            assert [json.loads(exchange.request_body) for exchange in more] == [json.loads(request)]
            again = dialect.read(more[0].response_body)
            assert (told.text, told.stop) == (again.text, common_stop(again.stop))
        elif told.end is End.FAILED:
            assert (told.text, more) == (shown, [])
        else:
            assert more == []
            reply = dialect.read(asked.response_body)
            _check_seam(told.end, shown, told.text, reply)
            assert told.stop == common_stop(reply.stop)


def _check_seam(end: End, shown: str, told: str, reply: Answer) -> None:
    """Blanks apart, what was told is what was shown and then what the reply says after its echo."""
    assert told.startswith(shown)
    added, said, before = (_squeezed(text) for text in (told.removeprefix(shown), reply.text, shown))
    assert said.endswith(added), "some of the reply was lost or changed"
    echo = said.removesuffix(added)
    if end is End.UNANCHORED:
        assert echo == "", "a reply without an echo is taken whole"
        return
    assert echo.endswith(before[-ANCHOR_CHARS:]), "what was cut away is not the end of what was shown"
    assert not added.startswith(before[-ANCHOR_CHARS:]), "the end of what was shown was told twice"


def _squeezed(text: str) -> str:
    return "".join(text.split())
