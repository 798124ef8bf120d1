"""`/api/generate` under Ollama's own client: only a raw prompt has words that a model can go on in."""

from __future__ import annotations

from typing import Any

import ollama
import pytest

import httpx
import seamstream
from seamstream.httpx import RecoveryTransport
from seamstream.testing import Fault, FaultServer
from tests.httpx.asking import AT_ONCE, REEFS, SPOKEN
from tests.support.cut_state import CutState, OpenCall
from tests.support.ollama_state import read_line

IN_THE_TEXT = Fault.reset(after_text=b"warm")
SHOWN = REEFS[: REEFS.index(" warm")]
PROMPT = "Q: what is a reef?\nA: "


async def _generate(url: str, state: CutState, **fields: Any) -> None:
    transport = RecoveryTransport(httpx.AsyncHTTPTransport(), AT_ONCE, profiles=seamstream.ProfileBook())
    async with ollama.AsyncClient(host=url, transport=transport) as client:
        stream: Any = await client.generate(model="m", prompt=PROMPT, stream=True, **fields)
        async for part in stream:
            read_line(state, part.model_dump(exclude_none=True), OpenCall)


@pytest.mark.parametrize("fault", [IN_THE_TEXT, Fault.fin(after_events=6), Fault.clean_end(after_events=6)])
async def test_a_raw_prompt_is_made_longer_by_what_was_shown(fault: Fault) -> None:
    state = CutState()
    with seamstream.capture() as outcomes:
        async with FaultServer(SPOKEN, [fault]) as server:
            await _generate(server.url, state, raw=True)
            first, second = (exchange.body for exchange in server.requests)
            paths = {exchange.path for exchange in server.requests}
    assert (state.text, state.ended) == (REEFS, True)
    assert paths == {"/api/generate"}
    assert second["prompt"].startswith(first["prompt"])
    assert REEFS.startswith(second["prompt"].removeprefix(PROMPT))
    assert second["prompt"] != first["prompt"]
    assert [outcome.kind for outcome in outcomes] == ["recovered"]
    assert outcomes[0].joins == ("prefill",)


async def test_a_prompt_that_has_a_template_is_sent_again_before_anything_was_shown() -> None:
    state = CutState()
    async with FaultServer(SPOKEN, [Fault.fin(after_events=0)]) as server:
        await _generate(server.url, state)
        first, second = (exchange.body for exchange in server.requests)
    assert (state.text, state.ended) == (REEFS, True)
    assert second == first


async def test_a_prompt_that_has_a_template_fails_honestly_after_text_was_shown() -> None:
    state = CutState()
    with seamstream.capture() as outcomes:
        async with FaultServer(SPOKEN, [IN_THE_TEXT]) as server:
            with pytest.raises(httpx.ReadError, match="not_continuable") as caught:
                await _generate(server.url, state)
            assert len(server.requests) == 1
    assert isinstance(caught.value, seamstream.StreamCutError)
    assert (state.text, state.ended) == (SHOWN, False)
    assert [outcome.kind for outcome in outcomes] == ["truncated"]


async def test_an_error_line_that_cannot_be_recovered_from_is_the_clients_own_error() -> None:
    state = CutState()
    async with FaultServer(SPOKEN, [Fault.in_band_error(500, after_events=4)]) as server:
        with pytest.raises(ollama.ResponseError, match="server had an error"):
            await _generate(server.url, state)
    assert REEFS.startswith(state.text)
    assert not state.ended
