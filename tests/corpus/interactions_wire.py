"""Writes Gemini Interactions streams byte by byte, in the newer and in the older revision."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

JsonObject = dict[str, Any]


def request(question: str, **fields: Any) -> JsonObject:
    """The body that an SDK sends for one question that the server is not to keep."""
    return {"model": "harbour-flash", "input": question, "stream": True, "store": False, **fields}


class InteractionsWriter:
    """Collects the bytes of one stream."""

    def __init__(self, number: int, *, older: bool = False, ascii_only: bool = False) -> None:
        self._older, self._ascii_only = older, ascii_only
        self._noun = "content" if older else "step"
        self._parts: list[str] = []
        self._number, self._index, self._events = number, -1, 0
        self.event(f"interaction.{'start' if older else 'created'}", interaction=self._head("in_progress"))
        self.event("interaction.status_update", interaction_id=self._head("")["id"], status="in_progress")

    def _head(self, status: str) -> JsonObject:
        name = f"v1_{self._number:04d}Qx"
        return {"id": name, "status": status, "object": "interaction", "model": "harbour-flash-2026"}

    def event(self, kind: str, **fields: Any) -> InteractionsWriter:
        self._events += 1
        data = {"event_type": kind, **fields, "event_id": f"e{self._number}-{self._events}"}
        text = json.dumps(data, ensure_ascii=self._ascii_only, separators=(",", ":"))
        return self.raw(f"event: {kind}\ndata: {text}\n\n")

    def raw(self, text: str) -> InteractionsWriter:
        self._parts.append(text)
        return self

    def step(self, kind: str, *deltas: JsonObject, **fields: Any) -> InteractionsWriter:
        """A step from its start to its stop."""
        self._index += 1
        self.event(f"{self._noun}.start", index=self._index, **{self._noun: {"type": kind, **fields}})
        for delta in deltas:
            self.event(f"{self._noun}.delta", index=self._index, delta=delta)
        return self.event(f"{self._noun}.stop", index=self._index)

    def text(self, pieces: Iterable[str]) -> InteractionsWriter:
        kind = "text" if self._older else "model_output"
        return self.step(kind, *({"type": "text", "text": piece} for piece in pieces))

    def thought(self, pieces: Iterable[str], signature: str = "") -> InteractionsWriter:
        told = [{"type": "thought_summary", "content": {"type": "text", "text": piece}} for piece in pieces]
        signed = [{"type": "thought_signature", "signature": signature}] if signature else []
        return self.step("thought", *told, *signed)

    def call(self, name: str, pieces: Iterable[str], call_id: str = "k3") -> InteractionsWriter:
        deltas = [{"type": "arguments_delta", "arguments": piece} for piece in pieces]
        return self.step("function_call", *deltas, id=call_id, name=name, arguments={})

    def end(self, status: str = "completed") -> bytes:
        usage = {"total_tokens": 51, "total_input_tokens": 11, "total_output_tokens": 33}
        usage |= {"total_cached_tokens": 0, "total_thought_tokens": 7}
        kind = "interaction.complete" if self._older else "interaction.completed"
        self.event(kind, interaction={**self._head(status), "usage": usage})
        return "".join([*self._parts, "event: done\ndata: [DONE]\n\n"]).encode()
