"""What the unmodified SDKs' own stream helpers make of an answer, async and sync."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import anthropic
import openai

MESSAGES: Any = [{"role": "user", "content": "Tell me about reefs."}]


@dataclass(frozen=True)
class Read:
    """`kinds` are the kinds of events in order, runs of one kind collapsed."""

    text: str
    calls: tuple[tuple[str, Any], ...]
    stop: str | None
    ids: frozenset[str]
    kinds: tuple[str, ...]


def collapsed(kinds: Iterable[str]) -> tuple[str, ...]:
    told: list[str] = []
    for kind in kinds:
        if told[-1:] != [kind]:
            told.append(kind)
    return tuple(told)


def read_chat(client: openai.OpenAI) -> Read:
    with client.chat.completions.stream(model="m", messages=MESSAGES) as stream:
        events = list(stream)
        return _chat(events, stream.get_final_completion())


async def read_chat_async(client: openai.AsyncOpenAI) -> Read:
    async with client.chat.completions.stream(model="m", messages=MESSAGES) as stream:
        events = [event async for event in stream]
        return _chat(events, await stream.get_final_completion())


def read_messages(client: anthropic.Anthropic) -> Read:
    with client.messages.stream(model="m", max_tokens=200, messages=MESSAGES) as stream:
        return _messages(list(stream), stream.get_final_message())


async def read_messages_async(client: anthropic.AsyncAnthropic) -> Read:
    async with client.messages.stream(model="m", max_tokens=200, messages=MESSAGES) as stream:
        events = [event async for event in stream]
        return _messages(events, await stream.get_final_message())


def _chat(events: list[Any], completion: Any) -> Read:
    (choice,) = completion.choices
    calls = [
        (call.function.name, json.loads(call.function.arguments)) for call in choice.message.tool_calls or []
    ]
    ids = frozenset(event.chunk.id for event in events if event.type == "chunk")
    kinds = collapsed(event.type for event in events if event.type != "chunk")
    return Read(choice.message.content or "", tuple(calls), choice.finish_reason, ids, kinds)


def _messages(events: list[Any], message: Any) -> Read:
    text = "".join(block.text for block in message.content if block.type == "text")
    calls = [(block.name, block.input) for block in message.content if block.type == "tool_use"]
    ids = frozenset(event.message.id for event in events if event.type == "message_start")
    derived = {"text", "input_json", "ping"}
    kinds = collapsed(event.type for event in events if event.type not in derived)
    return Read(text, tuple(calls), message.stop_reason, ids, kinds)
