"""Writes Chat Completions streams byte by byte as the providers of that dialect do."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

JsonObject = dict[str, Any]


def request(question: str, **fields: Any) -> JsonObject:
    """The body that an SDK sends for one question."""
    return {
        "model": "harbour-1",
        "messages": [{"role": "user", "content": question}],
        "stream": True,
        **fields,
    }


def function_tool(name: str, *parameters: str) -> JsonObject:
    schema = {"type": "object", "properties": {key: {"type": "string"} for key in parameters}}
    return {"type": "function", "function": {"name": name, "parameters": schema}}


class ChatWriter:
    """Collects the bytes of one stream. `fields` go on every chunk, `eol` and `space` are its framing.

    `full` envelopes carry what OpenAI itself adds; most servers of this dialect send the lean ones.
    """

    def __init__(
        self,
        number: int,
        *,
        eol: str = "\n",
        space: str = " ",
        ascii_only: bool = False,
        fields: JsonObject | None = None,
        full: bool = False,
    ) -> None:
        self._full = full
        self._head = {
            "id": f"chatcmpl-B{number:04d}hQ7vXk2",
            "object": "chat.completion.chunk",
            "created": 1_764_000_000 + number,
            "model": "harbour-1-2026-05",
            **({"system_fingerprint": "fp_5ea3a7"} if full else {}),
        }
        self._fields = fields or {}
        self._eol, self._space, self._ascii_only = eol, space, ascii_only
        self._parts: list[str] = []

    def raw(self, text: str) -> ChatWriter:
        self._parts.append(text)
        return self

    def comment(self, text: str) -> ChatWriter:
        return self.raw(f": {text}{self._eol}{self._eol}")

    def payload(self, value: object) -> ChatWriter:
        text = json.dumps(value, ensure_ascii=self._ascii_only, separators=(",", ":"))
        return self.raw(f"data:{self._space}{text}{self._eol}{self._eol}")

    def chunk(self, choices: list[JsonObject], **extra: Any) -> ChatWriter:
        return self.payload({**self._head, "choices": choices, **self._fields, **extra})

    def delta(
        self, delta: JsonObject, *, finish: str | None = None, index: int = 0, **extra: Any
    ) -> ChatWriter:
        choice = {"index": index, "delta": delta, "finish_reason": finish}
        if self._full:
            choice["logprobs"] = None
        return self.chunk([choice], **extra)

    def role(self, *, index: int = 0, **more: Any) -> ChatWriter:
        return self.delta({"role": "assistant", "content": "", "refusal": None, **more}, index=index)

    def text(self, parts: Iterable[str], *, key: str = "content", index: int = 0) -> ChatWriter:
        for part in parts:
            self.delta({key: part}, index=index)
        return self

    def tool(
        self, index: int, call_id: str, name: str, parts: Iterable[str], *, opening: str = ""
    ) -> ChatWriter:
        function = {"name": name, "arguments": opening}
        first = {"index": index, "id": call_id, "type": "function", "function": function}
        self.delta({"tool_calls": [first]})
        for part in parts:
            self.delta({"tool_calls": [{"index": index, "function": {"arguments": part}}]})
        return self

    def finish(self, reason: str, *, index: int = 0) -> ChatWriter:
        return self.delta({}, finish=reason, index=index)

    def usage(self, prompt: int, completion: int) -> ChatWriter:
        total = {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt + completion,
        }
        return self.chunk([], usage=total)

    def done(self) -> bytes:
        return self.raw(f"data:{self._space}[DONE]{self._eol}{self._eol}").getvalue()

    def getvalue(self) -> bytes:
        return "".join(self._parts).encode()
