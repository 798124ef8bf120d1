"""Bedrock ConverseStream in frames: text, reasoning, tools."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from seamstream.testing.answer import signature_of
from seamstream.testing.render_bedrock import frame
from tests.corpus import prose
from tests.corpus.stream import CorpusStream, pieces

TOOLS = {"tools": [{"toolSpec": {"name": name, "inputSchema": {"json": {}}}} for name in ("tides", "now")]}
TABLE = '{"port": "Vell \\u00d8st", "day": "2026-05-01"}'
NOTE = '{"text":"He said \\"ebb\\" {twice}, then \\\\ and a bell."}'


class BedrockWriter:
    """Collects the frames of one stream. Real payloads are padded, so that their lengths tell nothing."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._index = 0
        self.event("messageStart", role="assistant")

    def event(self, kind: str, **members: Any) -> BedrockWriter:
        self._parts.append(frame(kind, {**members, "p": "abcdefghij"[: len(self._parts) % 10]}))
        return self

    def delta(self, **delta: Any) -> BedrockWriter:
        return self.event("contentBlockDelta", contentBlockIndex=self._index, delta=delta)

    def stop(self) -> BedrockWriter:
        self.event("contentBlockStop", contentBlockIndex=self._index)
        self._index += 1
        return self

    def text(self, parts: Iterable[str]) -> BedrockWriter:
        for part in parts:
            self.delta(text=part)
        return self.stop()

    def reasoning(self, parts: Iterable[str]) -> BedrockWriter:
        whole = ""
        for part in parts:
            whole += part
            self.delta(reasoningContent={"text": part})
        return self.delta(reasoningContent={"signature": signature_of(whole)}).stop()

    def call(self, name: str, parts: Iterable[str]) -> BedrockWriter:
        tool = {"toolUseId": f"tooluse_{self._index}Qk", "name": name}
        self.event("contentBlockStart", contentBlockIndex=self._index, start={"toolUse": tool})
        for part in parts:
            self.delta(toolUse={"input": part})
        return self.stop()

    def end(self, reason: str = "end_turn") -> bytes:
        usage = {"inputTokens": 31, "outputTokens": 57, "totalTokens": 88}
        self.event("messageStop", stopReason=reason).event("metadata", usage=usage, metrics={"latencyMs": 9})
        return b"".join(self._parts)


def streams() -> Iterator[CorpusStream]:
    yield _stream("bedrock_text_plain", BedrockWriter().text(pieces(prose.PLAIN, 17, 12, 24)).end())
    yield _stream("bedrock_text_emoji_cjk", BedrockWriter().text(pieces(prose.EMOJI_CJK, 16, 23, 9)).end())
    yield _stream("bedrock_text_code", BedrockWriter().text(pieces(prose.CODE, 32, 26, 17)).end())
    short = BedrockWriter().text(pieces(prose.PLAIN[:140], 18, 11)).end("max_tokens")
    yield _stream("bedrock_text_length", short, inferenceConfig={"maxTokens": 400})
    thinking = {"additionalModelRequestFields": {"thinking": {"type": "enabled", "budget_tokens": 1024}}}
    thought = BedrockWriter().reasoning(pieces(prose.REASONING, 27, 22)).text(pieces(prose.PLAIN, 29, 23))
    yield _stream("bedrock_reasoning_text", thought.end(), **thinking)
    one = BedrockWriter().call("tides", pieces(TABLE, 4, 11)).end("tool_use")
    yield _stream("bedrock_tool_one", one, toolConfig=TOOLS)
    several = (
        BedrockWriter().call("tides", pieces(TABLE, 13, 6)).call("note", pieces(NOTE, 9)).call("now", [])
    )
    yield _stream("bedrock_tool_several", several.end("tool_use"), toolConfig=TOOLS)
    spoken = BedrockWriter().text(pieces(prose.SHORT, 7)).call("tides", pieces(TABLE, 9))
    yield _stream("bedrock_text_then_tool", spoken.end("tool_use"), toolConfig=TOOLS)


def _stream(name: str, data: bytes, **fields: Any) -> CorpusStream:
    asked = {"role": "user", "content": [{"text": f"Please answer ({name})."}]}
    return CorpusStream(name, "bedrock", {"messages": [asked], **fields}, data)
