"""What an unmodified SDK makes of a reader's bytes: the real clients' stream helpers over a canned response.

The result is memoised by the bytes, because thousands of cuts lead to the same output.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import anthropic
import httpx2
import openai
from openai.lib.streaming.chat import ChatCompletionStreamState

from tests.corpus.stream import Dialect
from tests.support import responses_reading
from tests.support.cut_state import Call, state_of, whole_arguments


@dataclass(frozen=True)
class Answer:
    """The part of a turn that Equality compares."""

    text: str
    refusal: str
    calls: tuple[Call, ...]
    stop: str | None


@dataclass(frozen=True)
class Reading:
    """One answer per choice, and what the SDK saw on the way to it."""

    answers: tuple[Answer, ...]
    ids: tuple[str, ...]
    kinds: tuple[str, ...]
    error: str | None
    usage: tuple[int | None, int | None]

    @property
    def answer(self) -> Answer:
        return self.answers[0] if self.answers else Answer("", "", (), None)


@lru_cache(maxsize=20_000)
def turn_of(dialect: Dialect, data: bytes) -> Reading:
    """Everything the dialect's own SDK reads from `data`; an error event of the stream ends the reading."""
    if dialect == "openai-chat" and b'"content":[{' in data:
        return wire_turn_of(dialect, data)  # Mistral's lists of parts, which openai-python refuses
    return {"openai-chat": _read_chat, "openai-responses": _read_responses, "anthropic": _read_anthropic}[
        dialect
    ](data)


class _Canned(httpx2.BaseTransport):
    """Answers every request with the bytes it was given last."""

    body = b""

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=self.body)


@cache
def _chat_client() -> tuple[openai.OpenAI, _Canned]:
    canned = _Canned()
    http = httpx2.Client(transport=canned)
    return openai.OpenAI(api_key="none", base_url="http://t/v1", max_retries=0, http_client=http), canned


@cache
def _anthropic_client() -> tuple[anthropic.Anthropic, _Canned]:
    canned = _Canned()
    http = httpx2.Client(transport=canned)
    return anthropic.Anthropic(api_key="none", base_url="http://t", max_retries=0, http_client=http), canned


def _collapsed(kinds: list[str]) -> tuple[str, ...]:
    return tuple(kind for at, kind in enumerate(kinds) if at == 0 or kinds[at - 1] != kind)


def _read_chat(data: bytes) -> Reading:
    client, canned = _chat_client()
    canned.body = data
    state: ChatCompletionStreamState[Any] = ChatCompletionStreamState()
    kinds: list[str] = []
    ids: list[str] = []
    completion: Any = None
    error: str | None = None
    usage: tuple[int | None, int | None] = (None, None)
    try:
        for chunk in client.chat.completions.create(model="m", messages=[], stream=True):
            if getattr(chunk, "object", None) == "":
                continue  # the stream helper skips Azure's annotation chunks in the same way
            kinds += [event.type for event in state.handle_chunk(chunk) if event.type != "chunk"]
            ids += [chunk.id] if chunk.id and chunk.id not in ids else []
            if chunk.usage is not None:
                usage = (chunk.usage.prompt_tokens, chunk.usage.completion_tokens)
            completion = state.current_completion_snapshot
    except openai.APIError as failure:
        error = str(failure)
    answers = tuple(map(_chat_answer, completion.choices)) if completion else ()
    return Reading(answers, tuple(ids), _collapsed(kinds), error, usage)


def _chat_answer(choice: Any) -> Answer:
    message = choice.message
    calls = [
        (call.function.name, whole_arguments(call.function.arguments)) for call in message.tool_calls or []
    ]
    return Answer(message.content or "", message.refusal or "", tuple(calls), choice.finish_reason)


def _read_responses(data: bytes) -> Reading:
    client, canned = _chat_client()
    canned.body = data
    seen = responses_reading.read(client)
    answer = Answer(seen.text, seen.refusal, seen.calls(), seen.stop)
    return Reading((answer,), tuple(seen.ids), _collapsed(seen.kinds), seen.error, seen.usage)


def wire_turn_of(dialect: Dialect, data: bytes) -> Reading:
    """The same from the small reader, for long streams of one choice: it is a hundred times faster."""
    state = state_of(dialect, data)
    answer = Answer(state.text, state.refusal, state.complete_calls, state.stops.get(0))
    return Reading((answer,), tuple(state.ids), (), state.error, (None, None))


def _read_anthropic(data: bytes) -> Reading:
    client, canned = _anthropic_client()
    canned.body = data
    kinds: list[str] = []
    ids: list[str] = []
    arguments: dict[int, str] = {}
    error: str | None = None
    with client.messages.stream(model="m", max_tokens=1, messages=[]) as stream:
        try:
            for event in stream:
                kinds += _anthropic_kind(event)
                if event.type == "message_start":
                    ids.append(event.message.id)
                elif event.type == "content_block_delta" and event.delta.type == "input_json_delta":
                    arguments[event.index] = arguments.get(event.index, "") + event.delta.partial_json
        except anthropic.APIError as failure:
            error = str(failure)
        message = stream.current_message_snapshot if ids else None
    if message is None:
        return Reading((), (), _collapsed(kinds), error, (None, None))
    usage = (message.usage.input_tokens, message.usage.output_tokens)
    return Reading((_anthropic_answer(message, arguments),), tuple(ids), _collapsed(kinds), error, usage)


def _anthropic_kind(event: Any) -> list[str]:
    """The kind of a wire event; what the helper derives from one (`text`, `input_json`, ...) is left out."""
    if event.type == "content_block_delta":
        return [f"{event.type} {event.delta.type}"]
    derived = ("text", "input_json", "citation", "thinking", "signature")
    return [] if event.type in derived else [str(event.type)]


def _anthropic_answer(message: Any, arguments: dict[int, str]) -> Answer:
    text = "".join(block.text for block in message.content if block.type == "text")
    calls = [
        (block.name, whole_arguments(arguments.get(index)))
        for index, block in enumerate(message.content)
        if block.type == "tool_use"
    ]
    return Answer(text, "", tuple(calls), message.stop_reason)
