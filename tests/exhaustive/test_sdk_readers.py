"""Unmodified SDKs over aiohttp with the middleware: the same answer, one id, the same order of events."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import aiohttp
import anthropic
import openai
import pytest
from httpx_aiohttp.httpx2 import AiohttpTransport

import seamstream
from seamstream import Outcome, Profile, ProfileBook, RecoveryMiddleware
from seamstream.testing import Ending, Fault, FaultServer
from tests.corpus import CorpusStream, by_name
from tests.exhaustive.cut import PROFILES
from tests.support.provider import Responder
from tests.support.reading import ChatFold, MessageFold, Reading
from tests.support.responses_reading import ResponsesFold
from tests.support.turns import turn_of

PATIENCE_S = 60.0


@dataclass(frozen=True)
class Case:
    """A stream that breaks behind so many thousandths of its bytes, and the plan that this takes."""

    name: str
    place: int
    ending: Ending
    plan: str
    strategy: str = "prefill"
    raw: bool = False
    """Without the SDK's stream helper."""

    @property
    def stream(self) -> CorpusStream:
        return by_name(self.name)

    @property
    def fault(self) -> Fault:
        return Fault(self.ending, after_bytes=len(self.stream.data) * self.place // 1000)

    def __str__(self) -> str:
        name = f"{self.name}{'-raw' if self.raw else ''}"
        return f"{name}-{self.plan}-{self.ending.value}-{self.strategy}"


CASES = [
    Case("chat_text_plain", 500, Ending.FIN, "R1"),
    Case("chat_text_emoji_cjk", 700, Ending.CLEAN_END, "R1", "prompt"),
    Case("chat_text_escapes", 400, Ending.BAD_CHUNK_SIZE, "R1"),
    Case("chat_text_code", 800, Ending.CLEAN_END, "R1", "prompt"),
    Case("chat_usage_chunks", 600, Ending.FIN, "R1"),
    Case("chat_text_then_tool", 700, Ending.FIN, "R3", "prompt"),
    Case("chat_tool_one", 500, Ending.CLEAN_END, "R4"),
    Case("chat_azure", 100, Ending.FIN, "R4"),
    Case("chat_refusal", 600, Ending.CLEAN_END, "R1"),
    Case("responses_text_plain", 500, Ending.FIN, "R1"),
    Case("responses_text_code", 800, Ending.CLEAN_END, "R1"),
    Case("responses_text_emoji_cjk", 600, Ending.BAD_CHUNK_SIZE, "R1"),
    Case("responses_text_length", 700, Ending.FIN, "R1"),
    Case("responses_refusal", 600, Ending.CLEAN_END, "R1"),
    Case("responses_text_then_tool", 660, Ending.FIN, "R3"),
    Case("responses_tool_one", 500, Ending.CLEAN_END, "R4"),
    Case("responses_keepalives", 300, Ending.FIN, "R4"),
    Case("responses_two_messages", 600, Ending.FIN, "R1", raw=True),
    Case("responses_text_plain", 300, Ending.CLEAN_END, "R1", raw=True),
    Case("responses_text_then_tool", 700, Ending.FIN, "R3", raw=True),
    Case("anthropic_text_plain", 500, Ending.FIN, "R1"),
    Case("anthropic_text_long", 800, Ending.CLEAN_END, "R1", "prompt"),
    Case("anthropic_text_escapes", 600, Ending.BAD_CHUNK_SIZE, "R1"),
    Case("anthropic_text_then_tool", 700, Ending.FIN, "R3", "prompt"),
    Case("anthropic_tool_one", 500, Ending.CLEAN_END, "R4"),
    Case("anthropic_thinking_text", 700, Ending.FIN, "R1", "prompt"),
    Case("anthropic_pings", 60, Ending.CLEAN_END, "R4"),
]


async def _read(case: Case, session: aiohttp.ClientSession, url: str) -> Reading:
    transport = AiohttpTransport(client=session)
    fields = {key: value for key, value in case.stream.request.items() if key != "stream"}
    if case.stream.dialect == "openai-chat":
        chat_http = openai.DefaultAioHttpClient(transport=transport)
        async with openai.AsyncOpenAI(api_key="k", base_url=f"{url}/v1", http_client=chat_http) as client:
            chat = ChatFold()
            async for chunk in await client.chat.completions.create(**fields, stream=True):
                chat.add(chunk)
            return chat.reading()
    if case.stream.dialect == "openai-responses":
        return await _read_responses(fields, transport, url, raw=case.raw)
    http = anthropic.DefaultAioHttpClient(transport=transport)
    async with anthropic.AsyncAnthropic(api_key="k", base_url=url, http_client=http) as client:
        fold = MessageFold()
        async with client.messages.stream(**fields) as stream:
            async for event in stream:
                fold.add(event)
            return fold.reading(stream.current_message_snapshot)


async def _read_responses(
    fields: dict[str, Any], transport: AiohttpTransport, url: str, *, raw: bool
) -> Reading:
    http = openai.DefaultAioHttpClient(transport=transport)
    async with openai.AsyncOpenAI(api_key="k", base_url=f"{url}/v1", http_client=http) as client:
        fold = ResponsesFold()
        if raw:
            async for event in await client.responses.create(**fields, stream=True):
                fold.add(event)
            return fold.reading()
        async with client.responses.stream(**fields) as stream:
            async for event in stream:
                fold.add(event)
        return fold.reading()


async def _recovered(case: Case) -> tuple[Reading, Outcome, list[bytes]]:
    middleware = RecoveryMiddleware(profiles=ProfileBook([Profile(PROFILES[case.strategy])]))
    async with asyncio.timeout(PATIENCE_S), FaultServer(Responder(case.stream), [case.fault]) as server:
        session = aiohttp.ClientSession(middlewares=[middleware])
        with seamstream.capture() as runs:
            reading = await _read(case, session, server.url)
        return reading, runs[0], [bytes(exchange.sent) for exchange in server.requests]


@pytest.mark.parametrize("case", CASES, ids=str)
async def test_an_unmodified_sdk_reads_one_whole_answer(case: Case) -> None:
    reading, outcome, sent = await _recovered(case)
    whole = turn_of(case.stream.dialect, case.stream.data)
    assert (outcome.kind, outcome.plan, len(sent)) == ("recovered", case.plan, 2)
    assert reading.answers == whole.answers
    assert len(reading.ids) == 1
    assert reading.kinds == whole.kinds
    assert reading.usage == _usage_due(case, sent)


def _usage_due(case: Case, sent: list[bytes]) -> tuple[int | None, int | None]:
    """Input of the first attempt that told it, output summed; of an unseen restart its own numbers."""
    seen = sent[-1:] if case.plan == "R4" else sent
    told = [turn_of(case.stream.dialect, data).usage for data in seen]
    inputs = [usage[0] for usage in told if usage[0] is not None]
    outputs = [usage[1] for usage in told if usage[1] is not None]
    return (inputs[0] if inputs else None), (sum(outputs) if outputs else None)


def test_there_are_enough() -> None:
    assert len(CASES) >= 12
