"""What mistralai's client reads from a stream, folded like the readings of the other SDKs."""

from __future__ import annotations

from functools import cache
from typing import Any

import httpx2
from mistralai.client import Mistral

from tests.support.cut_state import whole_arguments
from tests.support.reading import Answer, Reading


class MistralFold:
    """Takes the chunks of `chat.stream`. The SDK has no accumulator: its users add up like this."""

    def __init__(self) -> None:
        self._text = ""
        self._calls: dict[int, list[str]] = {}
        self._stop: str | None = None
        self._ids: list[str] = []
        self._kinds: list[str] = []
        self._usage: tuple[int | None, int | None] = (None, None)

    def add(self, chunk: Any) -> None:
        if chunk.id not in self._ids:
            self._ids.append(chunk.id)
        if chunk.usage is not None:
            self._usage = (chunk.usage.prompt_tokens, chunk.usage.completion_tokens)
        for choice in chunk.choices:
            self._content(choice.delta.content)
            for call in choice.delta.tool_calls or ():
                self._tell("tool call")
                name_and_arguments = self._calls.setdefault(call.index, ["", ""])
                name_and_arguments[0] += call.function.name or ""
                name_and_arguments[1] += str(call.function.arguments)
            self._stop = choice.finish_reason or self._stop

    def reading(self, error: str | None = None) -> Reading:
        calls = tuple((name, whole_arguments(text)) for name, text in self._calls.values())
        answer = Answer(self._text, "", calls, self._stop)
        return Reading((answer,), tuple(self._ids), tuple(self._kinds), error, self._usage)

    def _content(self, content: Any) -> None:
        parts = content if isinstance(content, list) else [content] if content else []
        for part in parts:
            if isinstance(part, str) or part.type == "text":
                self._tell("text")
                self._text += part if isinstance(part, str) else part.text
            else:
                self._tell("thinking")

    def _tell(self, kind: str) -> None:
        if self._kinds[-1:] != [kind]:
            self._kinds.append(kind)


class _Canned(httpx2.BaseTransport):
    body = b""

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=self.body)


@cache
def _client() -> tuple[Mistral, _Canned]:
    canned = _Canned()
    http: Any = httpx2.Client(transport=canned)
    return Mistral(api_key="none", server_url="http://t", client=http), canned


def read_mistral(data: bytes) -> Reading:
    """Everything the SDK reads from `data`."""
    client, canned = _client()
    canned.body, fold = data, MistralFold()
    with client.chat.stream(model="m", messages=[{"role": "user", "content": "q"}]) as events:
        for event in events:
            fold.add(event.data)
    return fold.reading()
