"""Unmodified SDKs of Ollama and Cohere over the httpx transports: a cut answer is to them one answer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import cohere
import ollama
import pytest

import httpx
import seamstream
from seamstream.httpx import RecoveryTransport, SyncRecoveryTransport
from seamstream.testing import DeterministicModel, Fault, FaultServer
from tests.httpx.asking import AT_ONCE, CALLING, IMPATIENT, SPOKEN, Style
from tests.support.cohere_state import read_event
from tests.support.cut_state import CutState, OpenCall
from tests.support.ollama_state import read_line

MESSAGES: Any = [{"role": "user", "content": "Tell me about reefs."}]
CASES: dict[str, tuple[DeterministicModel, list[Fault]]] = {
    "reset early": (SPOKEN, [Fault.reset(after_events=2)]),
    "reset in the text": (SPOKEN, [Fault.reset(after_text=b"warm")]),
    "fin": (SPOKEN, [Fault.fin(after_events=7)]),
    "clean end": (SPOKEN, [Fault.clean_end(after_events=7)]),
    "bad chunk size": (SPOKEN, [Fault.bad_chunk_size(after_events=6)]),
    "stall": (SPOKEN, [Fault.stall(after_events=6)]),
    "error in the stream": (SPOKEN, [Fault.in_band_error(500, after_events=6)]),
    "two cuts": (SPOKEN, [Fault.fin(after_events=6), Fault.clean_end(after_events=6)]),
    "503 first": (SPOKEN, [Fault.http_error(503), Fault.fin(after_events=6)]),
    "before the tool": (CALLING, [Fault.fin(after_text=b"deep")]),
}


@dataclass(frozen=True)
class Sdk:
    """One SDK: how it is asked, by its own client or through a given httpx client."""

    asked: Callable[[str, Any], Awaitable[CutState]]
    asked_async: Callable[[str, Any], Awaitable[CutState]]


def _given(transport: Any) -> dict[str, Any]:
    """What the client passes on to httpx."""
    return {"transport": transport} if transport is not None else {}


async def _ollama(url: str, transport: Any) -> CutState:
    def read() -> CutState:
        state = CutState()
        with ollama.Client(host=url, **_given(transport)) as client:
            for part in client.chat(model="m", messages=MESSAGES, stream=True):
                read_line(state, part.model_dump(exclude_none=True), OpenCall)
        return state

    return await asyncio.to_thread(read)


async def _ollama_async(url: str, transport: Any) -> CutState:
    state = CutState()
    async with ollama.AsyncClient(host=url, **_given(transport)) as client:
        async for part in await client.chat(model="m", messages=MESSAGES, stream=True):
            read_line(state, part.model_dump(exclude_none=True), OpenCall)
    return state


async def _cohere(url: str, transport: Any) -> CutState:
    def read() -> CutState:
        state, blocks = CutState(), dict[int, OpenCall]()
        with httpx.Client(transport=transport) as http:
            client = cohere.ClientV2(api_key="k", base_url=url, httpx_client=http)
            for event in client.chat_stream(model="m", messages=MESSAGES):
                read_event(state, blocks, event.model_dump(exclude_none=True), OpenCall)
        return state

    return await asyncio.to_thread(read)


async def _cohere_async(url: str, transport: Any) -> CutState:
    state, blocks = CutState(), dict[int, OpenCall]()
    async with httpx.AsyncClient(transport=transport) as http:
        client = cohere.AsyncClientV2(api_key="k", base_url=url, httpx_client=http)
        async for event in client.chat_stream(model="m", messages=MESSAGES):
            read_event(state, blocks, event.model_dump(exclude_none=True), OpenCall)
    return state


SDKS = {"ollama": Sdk(_ollama, _ollama_async), "cohere": Sdk(_cohere, _cohere_async)}


@pytest.mark.parametrize("style", ["async", "sync"])
@pytest.mark.parametrize("name", SDKS)
@pytest.mark.parametrize("case", CASES)
async def test_a_cut_answer_is_one_answer(name: str, style: Style, case: str) -> None:
    model, script = CASES[case]
    sdk, policy = SDKS[name], IMPATIENT if "stall" in case else AT_ONCE
    ask = sdk.asked if style == "sync" else sdk.asked_async
    transport: Any = (
        SyncRecoveryTransport(httpx.HTTPTransport(), policy, profiles=seamstream.ProfileBook())
        if style == "sync"
        else RecoveryTransport(httpx.AsyncHTTPTransport(), policy, profiles=seamstream.ProfileBook())
    )
    async with FaultServer(model) as server:
        unbroken = await ask(server.url, None)
    with seamstream.capture() as outcomes:
        async with FaultServer(model, script) as server:
            got = await ask(server.url, transport)
            assert len(server.requests) == 1 + len(script)
    assert (got.text, got.complete_calls, got.stops) == (
        unbroken.text,
        unbroken.complete_calls,
        unbroken.stops,
    )
    assert got.ended
    assert [outcome.kind for outcome in outcomes] == ["recovered"]
