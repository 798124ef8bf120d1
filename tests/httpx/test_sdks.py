"""Unmodified SDKs over `wrap`: a cut answer is to them one answer, the same as the unbroken one."""

from __future__ import annotations

import asyncio
from typing import Any

import anthropic
import openai
import pytest

import seamstream
from seamstream.testing import DeterministicModel, Dialect, Ending, Fault, FaultServer
from tests.httpx.asking import AT_ONCE, CALLING, IMPATIENT, SPOKEN, Style
from tests.httpx.sdk_reading import Read, read_chat, read_chat_async, read_messages, read_messages_async

CASES: dict[str, tuple[DeterministicModel, list[Fault]]] = {
    "reset early": (SPOKEN, [Fault.reset(after_events=2)]),
    "reset in the text": (SPOKEN, [Fault.reset(after_text=b"warm")]),
    "reset late": (SPOKEN, [Fault.reset(after_text=b"know")]),
    "fin": (SPOKEN, [Fault.fin(after_events=7)]),
    "clean end": (SPOKEN, [Fault.clean_end(after_events=7)]),
    "short length": (SPOKEN, [Fault.short_length(Ending.FIN, after_events=6)]),
    "bad chunk size": (SPOKEN, [Fault.bad_chunk_size(after_events=6)]),
    "stall": (SPOKEN, [Fault.stall(after_events=6)]),
    "stall with pings": (SPOKEN, [Fault.stall_with_pings(0.02, after_events=6)]),
    "overloaded": (SPOKEN, [Fault.in_band_error(529, after_events=6)]),
    "two cuts": (SPOKEN, [Fault.fin(after_events=6), Fault.clean_end(after_events=6)]),
    "503 first": (SPOKEN, [Fault.http_error(503), Fault.fin(after_events=6)]),
    "before the tool": (CALLING, [Fault.fin(after_text=b"deep")]),
    "in the arguments": (CALLING, [Fault.fin(after_text=b"metres")]),
}


class Sdk:
    """One SDK in one style."""

    def __init__(self, dialect: Dialect, style: Style) -> None:
        self._dialect = dialect
        self._style = style

    def client(self, url: str) -> Any:
        if self._dialect == "openai-chat":
            kind: Any = openai.AsyncOpenAI if self._style == "async" else openai.OpenAI
            return kind(api_key="k", base_url=f"{url}/v1")
        kind = anthropic.AsyncAnthropic if self._style == "async" else anthropic.Anthropic
        return kind(api_key="k", base_url=url)

    async def read(self, client: Any) -> Read:
        if self._style == "async":
            async with client:
                if self._dialect == "openai-chat":
                    return await read_chat_async(client)
                return await read_messages_async(client)
        return await asyncio.to_thread(self._read_sync, client)

    def _read_sync(self, client: Any) -> Read:
        with client:
            return read_chat(client) if self._dialect == "openai-chat" else read_messages(client)


@pytest.mark.parametrize("style", ["async", "sync"])
@pytest.mark.parametrize("dialect", ["openai-chat", "anthropic"])
@pytest.mark.parametrize("name", CASES)
async def test_a_cut_answer_is_one_answer(dialect: Dialect, style: Style, name: str) -> None:
    model, script = CASES[name]
    sdk = Sdk(dialect, style)
    policy = IMPATIENT if "stall" in name else AT_ONCE
    async with FaultServer(model) as server:
        unbroken = await sdk.read(sdk.client(server.url))
    with seamstream.capture() as outcomes:
        async with FaultServer(model, script) as server:
            got = await sdk.read(seamstream.wrap(sdk.client(server.url), policy))
            assert len(server.requests) == 1 + len(script)
    assert (got.text, got.calls, got.stop) == (unbroken.text, unbroken.calls, unbroken.stop)
    assert got.kinds == unbroken.kinds
    assert len(got.ids) == 1
    assert [outcome.kind for outcome in outcomes] == ["recovered"]


@pytest.mark.parametrize("style", ["async", "sync"])
@pytest.mark.parametrize("dialect", ["openai-chat", "anthropic"])
async def test_a_cut_for_good_reaches_the_sdks_user(dialect: Dialect, style: Style) -> None:
    sdk = Sdk(dialect, style)
    async with FaultServer(SPOKEN, [Fault.fin(after_events=6)]) as server:
        client = seamstream.wrap(sdk.client(server.url), AT_ONCE.replace(max_recoveries=0))
        with pytest.raises((openai.APIConnectionError, seamstream.StreamCutError)) as caught:
            await sdk.read(client)
        assert len(server.requests) == 1
    error = caught.value
    cut = error if isinstance(error, seamstream.StreamCutError) else error.__cause__
    assert isinstance(cut, seamstream.StreamCutError)
    assert cut.code == "budget_exhausted"
