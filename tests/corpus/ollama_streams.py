"""Ollama's own protocol, line by line: chat and generate, thinking, tools, lengths."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from tests.corpus import prose
from tests.corpus.stream import CorpusStream, pieces

TOOLS = [
    {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}}
    for name in ("tide_table", "now")
]
TABLE: dict[str, Any] = {"port": "Vell Øst", "day": "2026-05-01", "units": {"height": ["m", "ft"], "n": 1.5}}


class OllamaWriter:
    """Collects the lines of one stream."""

    def __init__(self, *, ascii_only: bool = False, generates: bool = False, eol: str = "\n") -> None:
        self._ascii_only, self._generates, self._eol = ascii_only, generates, eol
        self._lines: list[str] = []

    def line(self, **members: Any) -> OllamaWriter:
        stamp = f"2026-05-01T06:42:{len(self._lines) % 60:02d}.118Z"
        data = {"model": "harbour:4b", "created_at": stamp, **members}
        self._lines.append(json.dumps(data, ensure_ascii=self._ascii_only, separators=(",", ":")))
        return self

    def said(self, content: str, **members: Any) -> OllamaWriter:
        if self._generates:
            return self.line(response=content, **members, done=False)
        return self.line(message={"role": "assistant", "content": content, **members}, done=False)

    def text(self, parts: Iterable[str]) -> OllamaWriter:
        for part in parts:
            self.said(part)
        return self

    def thinking(self, parts: Iterable[str]) -> OllamaWriter:
        for part in parts:
            self.said("", thinking=part)
        return self

    def call(self, name: str, arguments: dict[str, Any], **members: Any) -> OllamaWriter:
        return self.said("", tool_calls=[{**members, "function": {"name": name, "arguments": arguments}}])

    def done(self, reason: str | None = "stop", content: str = "") -> bytes:
        last: dict[str, Any] = (
            {"response": content}
            if self._generates
            else {"message": {"role": "assistant", "content": content}}
        )
        if reason is not None:
            last["done_reason"] = reason
        counters = {"total_duration": 812_003_417, "prompt_eval_count": 26, "eval_count": 61}
        self.line(**last, done=True, **counters)
        return "".join(line + self._eol for line in self._lines).encode()


def streams() -> Iterator[CorpusStream]:
    yield _chat("ollama_text_plain", OllamaWriter().text(pieces(prose.PLAIN, 7, 12, 4)).done())
    yield _chat("ollama_text_emoji_cjk", OllamaWriter().text(pieces(prose.EMOJI_CJK, 6, 3, 9)).done())
    escapes = OllamaWriter(ascii_only=True, eol="\r\n").text(pieces(prose.ESCAPES, 9, 7, 14))
    yield _chat("ollama_text_escapes", escapes.done())
    yield _chat("ollama_text_in_the_last_line", OllamaWriter().text(["Low "]).done(content="tide."))
    yield _chat("ollama_text_without_a_reason", OllamaWriter().text(pieces(prose.SHORT, 5)).done(None))
    yield _chat("ollama_text_length", OllamaWriter().text(pieces(prose.PLAIN[:140], 8, 11)).done("length"))
    thought = OllamaWriter().thinking(pieces(prose.REASONING, 17, 12)).text(pieces(prose.PLAIN, 19, 13))
    yield _chat("ollama_thinking_text", thought.done(), think=True)
    yield _chat("ollama_tool_one", OllamaWriter().call("tide_table", TABLE).done(), tools=TOOLS)
    several = OllamaWriter().call("tide_table", TABLE, id="call_a").call("now", {}, id="call_b")
    yield _chat("ollama_tool_several", several.done(), tools=TOOLS)
    spoken = OllamaWriter().text(pieces(prose.SHORT, 6)).call("now", {}).done()
    yield _chat("ollama_text_then_tool", spoken, tools=TOOLS)
    generated = OllamaWriter(generates=True).text(pieces(prose.CODE, 12, 6, 17)).done()
    yield CorpusStream("ollama_generate", "ollama", _prompt(), generated, "no turns")
    raw = OllamaWriter(generates=True).text(pieces(prose.REPEATS, 14, 25)).done()
    yield CorpusStream("ollama_generate_raw", "ollama", _prompt(raw=True), raw, "no turns")


def _chat(name: str, data: bytes, **fields: Any) -> CorpusStream:
    asked = {"role": "user", "content": f"Please answer ({name})."}
    body = {"model": "harbour:4b", "messages": [asked], "stream": True, **fields}
    return CorpusStream(name, "ollama", body, data)


def _prompt(**fields: Any) -> dict[str, Any]:
    return {"model": "harbour:4b", "prompt": "Q: what next?\nA: ", "stream": True, **fields}
