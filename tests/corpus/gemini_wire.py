"""Writes Gemini streams byte by byte as the provider does: data lines that end in CRLF, nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

JsonObject = dict[str, Any]


def request(question: str, **fields: Any) -> JsonObject:
    """The body that an SDK sends for one question."""
    return {"contents": [{"parts": [{"text": question}], "role": "user"}], **fields}


class GeminiWriter:
    """Collects the bytes of one stream."""

    def __init__(
        self, number: int, *, eol: str = "\r\n", ascii_only: bool = False, index: bool = True
    ) -> None:
        self._id, self._eol, self._ascii_only, self._index = f"{number:04d}rK7", eol, ascii_only, index
        self._parts: list[str] = []
        self._tokens = 0

    def raw(self, text: str) -> GeminiWriter:
        self._parts.append(text)
        return self

    def chunk(self, **fields: Any) -> GeminiWriter:
        usage = {
            "promptTokenCount": 11,
            "candidatesTokenCount": self._tokens,
            "totalTokenCount": 18 + self._tokens,
            "thoughtsTokenCount": 7,
        }
        data = {
            **fields,
            "usageMetadata": usage,
            "modelVersion": "harbour-flash-2026-05",
            "responseId": self._id,
        }
        text = json.dumps(data, ensure_ascii=self._ascii_only, separators=(",", ":"))
        return self.raw(f"data: {text}{self._eol * 2}")

    def parts(self, *parts: JsonObject, choice: int = 0, finish: str | None = None) -> GeminiWriter:
        self._tokens += len(parts)
        candidate: JsonObject = {"content": {"parts": list(parts), "role": "model"}}
        if finish is not None:
            candidate["finishReason"] = finish
        if self._index:
            candidate["index"] = choice
        return self.chunk(candidates=[candidate])

    def text(self, pieces: Iterable[str], *, choice: int = 0, **fields: Any) -> GeminiWriter:
        for piece in pieces:
            self.parts({"text": piece, **fields}, choice=choice)
        return self

    def call(self, name: str, arguments: JsonObject | None = None, **fields: Any) -> GeminiWriter:
        call = {"name": name} if arguments is None else {"name": name, "args": arguments}
        return self.parts({"functionCall": call, **fields})

    def piece(self, **call: Any) -> GeminiWriter:
        """One event of a call whose arguments are streamed."""
        return self.parts({"functionCall": call})

    def end(self, reason: str = "STOP", *, choice: int = 0, **part: Any) -> bytes:
        self.parts({"text": "", **part}, choice=choice, finish=reason)
        return "".join(self._parts).encode()
