"""The providers' own SDKs over a canned response: their real stream classes and accumulators, no socket."""

from __future__ import annotations

import json
from collections.abc import Iterator

import anthropic
import httpx2
import openai
from openai.lib.streaming.chat import ChatCompletionStreamState

from bench.payloads import Expected


class Reads(httpx2.SyncByteStream):
    """A body that arrives in the given reads."""

    def __init__(self, reads: list[bytes]) -> None:
        self._reads = reads

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._reads)


class Canned(httpx2.BaseTransport):
    """Answers every request with the same reads."""

    def __init__(self, reads: list[bytes]) -> None:
        self._reads = reads

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        headers = {"content-type": "text/event-stream"}
        return httpx2.Response(200, headers=headers, stream=Reads(self._reads), request=request)


class OpenAIReader:
    """openai-python: `Stream` and `ChatCompletionStreamState`."""

    def __init__(self, reads: list[bytes]) -> None:
        http = httpx2.Client(transport=Canned(reads))
        self._client = openai.OpenAI(api_key="none", base_url="http://canned/v1", http_client=http)

    def __call__(self) -> Expected:
        state = ChatCompletionStreamState()
        messages = [{"role": "user", "content": "go"}]
        for chunk in self._client.chat.completions.create(model="m", messages=messages, stream=True):
            state.handle_chunk(chunk)
        message = state.current_completion_snapshot.choices[0].message
        arguments = message.tool_calls[0].function.arguments if message.tool_calls else ""
        return Expected(message.content or "", arguments)


class AnthropicReader:
    """anthropic: `messages.stream()`, the public way to its accumulator."""

    def __init__(self, reads: list[bytes]) -> None:
        http = httpx2.Client(transport=Canned(reads))
        self._client = anthropic.Anthropic(api_key="none", base_url="http://canned", http_client=http)

    def __call__(self) -> Expected:
        messages = [{"role": "user", "content": "go"}]
        with self._client.messages.stream(model="m", max_tokens=9, messages=messages) as stream:
            text, tool = stream.get_final_message().content
        return Expected(text.text, json.dumps(tool.input, ensure_ascii=False))
