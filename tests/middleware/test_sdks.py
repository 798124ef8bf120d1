"""Unmodified `openai` and `anthropic` clients over aiohttp: they cannot tell a recovered answer from an
unbroken one.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp
import anthropic
import openai
import pytest
from httpx_aiohttp.httpx2 import AiohttpTransport

import seamstream
from seamstream import Outcome, ProfileBook, RecoveryMiddleware, RecoveryPolicy
from seamstream.testing import (
    Answer,
    DeterministicModel,
    Dialect,
    Fault,
    FaultServer,
    Reasoning,
    Text,
    Tool,
    tokens,
)
from tests.middleware.conftest import PROSE
from tests.middleware.test_healing import AT_ONCE

DERIVED = {"text", "thinking", "signature", "input_json", "citation"}
"""What the SDK makes of each delta besides the delta itself."""
MESSAGES: Any = [{"role": "user", "content": "What is a reef?"}]
LOOK = Tool("look", ('{"where":', ' "no', 'rth"}'))
ANSWERS = {
    "text": Answer((Text(tokens(PROSE)),)),
    "reasoning": Answer((Reasoning(tokens("What do they know already? Little.")), Text(tokens(PROSE)))),
    "tool": Answer((LOOK,)),
    "text and tool": Answer((Text(tokens("Let me look.")), LOOK)),
}


@dataclass(frozen=True)
class Seen:
    """What the SDK's user sees. `kinds` are the kinds of its events in order, runs of deltas as one."""

    text: str
    calls: tuple[tuple[str, str], ...]
    stop: str | None
    ids: frozenset[str]
    kinds: tuple[str, ...]
    usage: tuple[int | None, int | None]

    def same_answer(self, other: Seen) -> bool:
        mine = (self.text, self.calls, self.stop, self.kinds, len(self.ids))
        return mine == (other.text, other.calls, other.stop, other.kinds, len(other.ids))


def _add(kinds: list[str], kind: str) -> None:
    if not kinds or kinds[-1] != kind:
        kinds.append(kind)


async def _ask_openai(url: str, session: Callable[[], aiohttp.ClientSession]) -> Seen:
    http = openai.DefaultAioHttpClient(transport=AiohttpTransport(client=session))
    kinds, ids = list[str](), set[str]()
    async with openai.AsyncOpenAI(
        api_key="none", base_url=f"{url}/v1", max_retries=0, http_client=http
    ) as client:
        options: Any = {"include_usage": True}
        manager = client.chat.completions.stream(model="m", messages=MESSAGES, stream_options=options)
        async with manager as stream:
            async for event in stream:
                _add(kinds, event.type)
                if event.type == "chunk":
                    ids.add(event.chunk.id)
            final = await stream.get_final_completion()
    message, usage = final.choices[0].message, final.usage
    calls = tuple((call.function.name, call.function.arguments) for call in message.tool_calls or ())
    counted = (usage.prompt_tokens, usage.completion_tokens) if usage else (None, None)
    kinds = [kind for kind in kinds if kind != "chunk"]
    collapsed = tuple(kind for at, kind in enumerate(kinds) if at == 0 or kinds[at - 1] != kind)
    stop = final.choices[0].finish_reason
    return Seen(message.content or "", calls, stop, frozenset(ids), collapsed, counted)


async def _ask_anthropic(url: str, session: Callable[[], aiohttp.ClientSession]) -> Seen:
    http = anthropic.DefaultAioHttpClient(transport=AiohttpTransport(client=session))
    kinds, ids = list[str](), set[str]()
    async with (
        anthropic.AsyncAnthropic(api_key="none", base_url=url, max_retries=0, http_client=http) as client,
        client.messages.stream(model="m", max_tokens=4000, messages=MESSAGES) as stream,
    ):
        async for event in stream:
            if event.type == "content_block_delta":
                _add(kinds, event.delta.type)
            elif event.type not in DERIVED:
                _add(kinds, event.type)
            if event.type == "message_start":
                ids.add(event.message.id)
        final = await stream.get_final_message()
    text = "".join(block.text for block in final.content if block.type == "text")
    calls = tuple((block.name, str(block.input)) for block in final.content if block.type == "tool_use")
    counted = (final.usage.input_tokens, final.usage.output_tokens)
    return Seen(text, calls, final.stop_reason, frozenset(ids), tuple(kinds), counted)


ASK = {"openai-chat": _ask_openai, "anthropic": _ask_anthropic}


@asynccontextmanager
async def _asked(
    dialect: Dialect, answer: Answer, script: list[Fault], policy: RecoveryPolicy | None
) -> AsyncIterator[tuple[Seen, FaultServer, list[Outcome]]]:
    """One answer through the dialect's SDK; without a policy, without the middleware."""
    layers = (RecoveryMiddleware(policy, profiles=ProfileBook()),) if policy is not None else ()
    async with FaultServer(DeterministicModel(answer), script) as server:
        with seamstream.capture() as runs:
            seen = await ASK[dialect](server.url, lambda: aiohttp.ClientSession(middlewares=layers))
        yield seen, server, runs


INVISIBLE = ("before content", "503 before the stream")
CUTS = {
    "reset": Fault.reset(after_events=6),
    "early end": Fault.clean_end(after_events=6),
    "overload": Fault.in_band_error(529, after_events=6),
    "half an event": Fault.reset(after_bytes=1_500),
    "malformed chunk": Fault.bad_chunk_size(after_events=6),
    "before content": Fault.reset(after_events=1),
    "503 before the stream": Fault.http_error(503),
}


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("name", ["text", "reasoning"])
@pytest.mark.parametrize("dialect", ["openai-chat", "anthropic"])
async def test_the_sdk_sees_the_unbroken_answer(dialect: Dialect, name: str, cut: str) -> None:
    async with _asked(dialect, ANSWERS[name], [], None) as (expected, _, _):
        pass
    async with _asked(dialect, ANSWERS[name], [CUTS[cut]], AT_ONCE) as (seen, server, runs):
        assert len(server.requests) == 2
    if (
        name == "reasoning"
        and dialect == "anthropic"
        and cut not in ("before content", "503 before the stream")
    ):
        assert (seen.text, seen.calls, seen.stop, len(seen.ids)) == (expected.text, (), expected.stop, 1)
    else:
        assert seen.same_answer(expected)
    assert runs[0].kind == "recovered"


@pytest.mark.parametrize("name", ["tool", "text and tool"])
@pytest.mark.parametrize("dialect", ["openai-chat", "anthropic"])
async def test_a_cut_call_comes_out_whole(dialect: Dialect, name: str) -> None:
    async with _asked(dialect, ANSWERS[name], [], None) as (expected, _, _):
        pass
    async with _asked(dialect, ANSWERS[name], [Fault.reset(after_text=b"no")], AT_ONCE) as (seen, _, runs):
        assert seen.same_answer(expected)
        assert seen.calls == expected.calls != ()
    assert runs[0].plan == ("R4" if name == "tool" else "R3")


@pytest.mark.parametrize("dialect", ["openai-chat", "anthropic"])
async def test_usage_is_the_first_input_and_the_sum_of_outputs(dialect: Dialect) -> None:
    """A lower bound: the cut attempt reported what it had reported by then."""
    async with _asked(dialect, ANSWERS["text"], [], None) as (unbroken, _, _):
        pass
    cut = Fault.reset(after_events=6)
    async with _asked(dialect, ANSWERS["text"], [cut], AT_ONCE) as (seen, _, _):
        pass
    assert unbroken.usage[1] is not None
    assert seen.usage[1] is not None
    if dialect == "anthropic":
        assert seen.usage[0] == unbroken.usage[0]
        assert 0 < seen.usage[1] <= unbroken.usage[1]
    else:
        assert seen.usage[1] > 0


@pytest.mark.parametrize("dialect", ["openai-chat", "anthropic"])
async def test_the_sdk_s_own_retries_do_not_multiply_ours(dialect: Dialect) -> None:
    always = Fault.http_error(503, {"retry-after": "0"})
    async with FaultServer(DeterministicModel(ANSWERS["text"]), lambda _: always) as server:
        layers = (RecoveryMiddleware(AT_ONCE, profiles=ProfileBook()),)
        make = lambda: aiohttp.ClientSession(middlewares=layers)  # noqa: E731
        with pytest.raises((openai.APIStatusError, anthropic.APIStatusError)):
            await _ask_patiently(dialect, server.url, make)
        assert len(server.requests) == AT_ONCE.max_recoveries + 1


async def _ask_patiently(dialect: Dialect, url: str, session: Callable[[], aiohttp.ClientSession]) -> None:
    """With the SDK's default number of retries."""
    if dialect == "openai-chat":
        http = openai.DefaultAioHttpClient(transport=AiohttpTransport(client=session))
        async with openai.AsyncOpenAI(api_key="none", base_url=f"{url}/v1", http_client=http) as client:
            await client.chat.completions.create(model="m", messages=MESSAGES, stream=True)
        return
    aio = anthropic.DefaultAioHttpClient(transport=AiohttpTransport(client=session))
    async with anthropic.AsyncAnthropic(api_key="none", base_url=url, http_client=aio) as asking:
        await asking.messages.create(model="m", max_tokens=100, messages=MESSAGES, stream=True)
