"""What an unmodified SDK makes of a reader's bytes: the real clients over a canned response.

The result is memoised by the bytes, because thousands of cuts lead to the same output.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache

import anthropic
import httpx2
import openai
from google import genai
from google.genai import errors as genai_errors
from google.genai import types as genai_types

from tests.corpus.stream import Dialect
from tests.support import bedrock_reading
from tests.support.bedrock_reading import read_bedrock
from tests.support.cohere_reading import read_cohere
from tests.support.cut_state import state_of
from tests.support.gemini_reading import GeminiFold
from tests.support.interactions_reading import InteractionsFold
from tests.support.mistral_reading import read_mistral
from tests.support.ollama_reading import ID, read_ollama
from tests.support.reading import Answer, ChatFold, MessageFold, Reading
from tests.support.responses_reading import ResponsesFold

__all__ = ["Answer", "Reading", "turn_of", "wire_turn_of"]


@lru_cache(maxsize=20_000)
def turn_of(dialect: Dialect, data: bytes) -> Reading:
    """Everything the dialect's own SDK reads from `data`; an error event of the stream ends the reading."""
    if dialect == "openai-chat" and b'"content":[{' in data:
        return read_mistral(data)  # lists of parts, which openai-python refuses
    if dialect == "gemini-interactions" and b'"event_type":"content.' in data:
        return wire_turn_of(dialect, data)  # the older revision, which google-genai no longer knows
    return _READERS[dialect](data)


def wire_turn_of(dialect: Dialect, data: bytes) -> Reading:
    """The same from the small reader, for long streams of one choice: it is a hundred times faster."""
    state = state_of(dialect, data)
    answer = Answer(state.text, state.refusal, state.complete_calls, state.stops.get(0))
    nameless = {"ollama": ID, "bedrock": bedrock_reading.ID}
    ids = nameless.get(dialect, tuple(state.ids))
    return Reading((answer,), ids, (), state.error, (None, None))


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


@cache
def _gemini_client() -> tuple[genai.Client, _Canned]:
    canned = _Canned()
    options = genai_types.HttpOptions(base_url="http://t", httpx_client=httpx2.Client(transport=canned))
    return genai.Client(api_key="none", http_options=options), canned


def _read_gemini(data: bytes) -> Reading:
    client, canned = _gemini_client()
    canned.body, fold = data, GeminiFold()
    try:
        for chunk in client.models.generate_content_stream(model="m", contents="q"):
            fold.add(chunk)
    except genai_errors.APIError as failure:
        return fold.reading(str(failure))
    return fold.reading()


def _read_interactions(data: bytes) -> Reading:
    client, canned = _gemini_client()
    canned.body, fold = data, InteractionsFold()
    for event in client.interactions.create(model="m", input="q", stream=True):
        fold.add(event)
    return fold.reading()


def _read_chat(data: bytes) -> Reading:
    client, canned = _chat_client()
    canned.body, fold = data, ChatFold()
    try:
        for chunk in client.chat.completions.create(model="m", messages=[], stream=True):
            fold.add(chunk)
    except openai.APIError as failure:
        return fold.reading(str(failure))
    return fold.reading()


def _read_responses(data: bytes) -> Reading:
    client, canned = _chat_client()
    canned.body, fold = data, ResponsesFold()
    with client.responses.stream(model="m", input="q") as stream:
        try:
            for event in stream:
                fold.add(event)
        except openai.APIError as failure:
            return fold.reading(str(failure))
    return fold.reading()


def _read_messages(data: bytes) -> Reading:
    client, canned = _anthropic_client()
    canned.body, fold, error = data, MessageFold(), None
    with client.messages.stream(model="m", max_tokens=1, messages=[]) as stream:
        try:
            for event in stream:
                fold.add(event)
        except anthropic.APIError as failure:
            error = str(failure)
        message = stream.current_message_snapshot if fold.begun else None
    return fold.reading(message, error)


_READERS: dict[Dialect, Callable[[bytes], Reading]] = {
    "openai-chat": _read_chat,
    "openai-responses": _read_responses,
    "anthropic": _read_messages,
    "gemini": _read_gemini,
    "ollama": read_ollama,
    "cohere": read_cohere,
    "bedrock": read_bedrock,
    "gemini-interactions": _read_interactions,
}
