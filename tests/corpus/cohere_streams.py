"""Cohere v2 streams: text, thinking, plans with tool calls, citations."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from tests.corpus import prose
from tests.corpus.stream import CorpusStream, pieces

TOOLS = [
    {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}}
    for name in ("tide_table", "log_note", "now")
]
TABLE = '{"port": "Vell \\u00d8st", "day": "2026-05-01"}'
NOTE = '{"text":"He said \\"ebb\\" {twice}, then \\\\ and a bell."}'


class CohereWriter:
    """Collects the events of one stream."""

    def __init__(self, number: int, *, named: bool = True, ascii_only: bool = False) -> None:
        self._named, self._ascii_only = named, ascii_only
        self._parts: list[str] = []
        self._contents = self._calls = 0
        envelope = {"role": "assistant", "content": [], "tool_plan": "", "tool_calls": [], "citations": []}
        self.event("message-start", id=f"{number:04d}7d1c-52ae", delta={"message": envelope})

    def event(self, kind: str, **members: Any) -> CohereWriter:
        data = json.dumps({"type": kind, **members}, ensure_ascii=self._ascii_only, separators=(",", ":"))
        name = f"event: {kind}\n" if self._named else ""
        self._parts.append(f"{name}data: {data}\n\n")
        return self

    def _message(self, kind: str, index: int | None, **message: Any) -> CohereWriter:
        numbered = {} if index is None else {"index": index}
        return self.event(kind, **numbered, delta={"message": message})

    def content(self, parts: Iterable[str], kind: str = "text", *, cited: bool = False) -> CohereWriter:
        index = self._contents
        self._message("content-start", index, content={"type": kind, kind: ""})
        for part in parts:
            self._message("content-delta", index, content={kind: part})
        self.event("content-end", index=index)
        if cited:
            source = {"type": "document", "id": "doc:0"}
            citation = {"start": 0, "end": 4, "text": "tide", "sources": [source]}
            self._message("citation-start", 0, citations=citation).event("citation-end", index=0)
        self._contents += 1
        return self

    def plan(self, parts: Iterable[str]) -> CohereWriter:
        for part in parts:
            self._message("tool-plan-delta", None, tool_plan=part)
        return self

    def call(self, name: str, parts: Iterable[str]) -> CohereWriter:
        index = self._calls
        function = {"name": name, "arguments": ""}
        opening = {"id": f"{name}_{index}e8p", "type": "function", "function": function}
        self._message("tool-call-start", index, tool_calls=opening)
        for part in parts:
            self._message("tool-call-delta", index, tool_calls={"function": {"arguments": part}})
        self.event("tool-call-end", index=index)
        self._calls += 1
        return self

    def end(self, reason: str = "COMPLETE") -> bytes:
        counts = {"input_tokens": 31, "output_tokens": 57}
        usage = {"billed_units": counts, "tokens": counts, "cached_tokens": 16}
        self.event("message-end", delta={"finish_reason": reason, "usage": usage})
        return "".join(self._parts).encode()


def streams() -> Iterator[CorpusStream]:
    yield _stream("cohere_text_plain", CohereWriter(1).content(pieces(prose.PLAIN, 7, 12, 4)).end())
    yield _stream("cohere_text_emoji_cjk", CohereWriter(2).content(pieces(prose.EMOJI_CJK, 6, 3, 9)).end())
    plain = CohereWriter(3, named=False, ascii_only=True).content(pieces(prose.ESCAPES, 9, 7, 14))
    yield _stream("cohere_text_escapes_unnamed", plain.end())
    yield _stream("cohere_text_code", CohereWriter(4).content(pieces(prose.CODE, 12, 6, 17)).end())
    cited = CohereWriter(5).content(pieces(prose.SHORT, 6, 9), cited=True)
    yield _stream("cohere_text_cited", cited.end())
    short = CohereWriter(6).content(pieces(prose.PLAIN[:140], 8, 11))
    yield _stream("cohere_text_length", short.end("MAX_TOKENS"), max_tokens=40)
    thought = CohereWriter(7).content(pieces(prose.REASONING, 17, 12), "thinking")
    yield _stream("cohere_thinking_text", thought.content(pieces(prose.PLAIN, 19, 13)).end())
    one = CohereWriter(8).plan(pieces(prose.SHORT, 7)).call("tide_table", pieces(TABLE, 4, 11))
    yield _stream("cohere_plan_tool", one.end("TOOL_CALL"), tools=TOOLS)
    several = CohereWriter(9).plan(["I will look."]).call("tide_table", pieces(TABLE, 13, 6))
    several.call("log_note", pieces(NOTE, 9, 14)).call("now", [])
    yield _stream("cohere_plan_tools", several.end("TOOL_CALL"), tools=TOOLS)
    bare = CohereWriter(10).call("now", [])
    yield _stream("cohere_tool_no_arguments", bare.end("TOOL_CALL"), tools=TOOLS)


def _stream(name: str, data: bytes, **fields: Any) -> CorpusStream:
    asked = {"role": "user", "content": f"Please answer ({name})."}
    body = {"model": "command-harbour", "messages": [asked], "stream": True, **fields}
    return CorpusStream(name, "cohere", body, data)
