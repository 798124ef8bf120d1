"""Writes Messages streams event by event as Anthropic and compatible servers do."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

JsonObject = dict[str, Any]


def request(question: str, **fields: Any) -> JsonObject:
    """The body that an SDK sends for one question."""
    return {
        "model": "claude-harbour-4-5",
        "max_tokens": 4096,
        "messages": [{"role": "user", "content": question}],
        "stream": True,
        **fields,
    }


def client_tool(name: str, *parameters: str) -> JsonObject:
    schema = {"type": "object", "properties": {key: {"type": "string"} for key in parameters}}
    return {"name": name, "input_schema": schema}


class AnthropicWriter:
    """Collects the bytes of one stream; block indexes count up by themselves."""

    def __init__(self, number: int, *, eol: str = "\n", space: str = " ", ascii_only: bool = False) -> None:
        self._message_id = f"msg_01Kt{number:04d}WqZr"
        self._eol, self._space, self._ascii_only = eol, space, ascii_only
        self._index = -1
        self._parts: list[str] = []

    def raw(self, text: str) -> AnthropicWriter:
        self._parts.append(text)
        return self

    def event(self, kind: str, **fields: Any) -> AnthropicWriter:
        text = json.dumps({"type": kind, **fields}, ensure_ascii=self._ascii_only, separators=(",", ":"))
        space, eol = self._space, self._eol
        return self.raw(f"event:{space}{kind}{eol}data:{space}{text}{eol}{eol}")

    def ping(self) -> AnthropicWriter:
        return self.event("ping")

    def start(self, input_tokens: int = 24) -> AnthropicWriter:
        usage = {
            "input_tokens": input_tokens,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": 1,
        }
        message = {
            "id": self._message_id,
            "type": "message",
            "role": "assistant",
            "model": "claude-harbour-4-5-20251101",
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": usage,
        }
        return self.event("message_start", message=message)

    def open(self, block: JsonObject) -> AnthropicWriter:
        self._index += 1
        return self.event("content_block_start", index=self._index, content_block=block)

    def delta(self, kind: str, **fields: Any) -> AnthropicWriter:
        return self.event("content_block_delta", index=self._index, delta={"type": kind, **fields})

    def close(self) -> AnthropicWriter:
        return self.event("content_block_stop", index=self._index)

    def text(self, parts: Iterable[str]) -> AnthropicWriter:
        self.open({"type": "text", "text": ""})
        for part in parts:
            self.delta("text_delta", text=part)
        return self.close()

    def thinking(self, parts: Iterable[str], signature: str) -> AnthropicWriter:
        self.open({"type": "thinking", "thinking": "", "signature": ""})
        for part in parts:
            self.delta("thinking_delta", thinking=part)
        return self.delta("signature_delta", signature=signature).close()

    def tool(
        self, call_id: str, name: str, parts: Iterable[str], *, kind: str = "tool_use"
    ) -> AnthropicWriter:
        self.open({"type": kind, "id": call_id, "name": name, "input": {}})
        for part in parts:
            self.delta("input_json_delta", partial_json=part)
        return self.close()

    def end(self, reason: str, output_tokens: int, **delta: Any) -> bytes:
        stop = {"stop_reason": reason, "stop_sequence": None, **delta}
        self.event("message_delta", delta=stop, usage={"output_tokens": output_tokens})
        return self.event("message_stop").getvalue()

    def getvalue(self) -> bytes:
        return "".join(self._parts).encode()
