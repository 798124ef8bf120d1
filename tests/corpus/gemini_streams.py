"""Gemini streams: text, thoughts, whole and streamed calls, code that the provider runs, blocked prompts."""

from __future__ import annotations

import json
from collections.abc import Iterator

from tests.corpus import prose
from tests.corpus.gemini_wire import GeminiWriter, request
from tests.corpus.stream import CorpusStream, pieces

DIALECT = "gemini"
TABLE = {"port": "Vell Øst", "day": "2026-05-01", "units": {"height": ["m", "ft"]}}
NOTE = {"text": 'He said "ebb" {twice}, then \\ and a bell.'}
SIGNED = {"thoughtSignature": "Eq4Bp2R7" * 6}


def streams() -> Iterator[CorpusStream]:
    yield _stream("gemini_text_plain", _text(1, prose.PLAIN, 31, 47))
    yield _stream("gemini_text_emoji_cjk", _text(2, prose.EMOJI_CJK, 12, 7, ascii_only=True))
    yield _stream("gemini_text_code", _text(3, prose.CODE, 64, 33, eol="\n"))
    yield _stream("gemini_text_escapes", _text(4, prose.ESCAPES, 29, index=False))
    length = GeminiWriter(5).text(pieces(prose.PLAIN[:120], 35, 29)).end("MAX_TOKENS")
    yield _stream("gemini_text_length", length)
    yield _stream("gemini_thoughts", _thoughts(6))
    yield _stream("gemini_filtered", GeminiWriter(7).text(pieces(prose.SHORT, 12)).end("SAFETY"))
    yield _stream("gemini_blocked_prompt", _blocked(8))
    yield _stream("gemini_tool_one", GeminiWriter(9).call("tide_table", TABLE, **SIGNED).end())
    yield _stream("gemini_tool_parallel", _parallel(10))
    yield _stream("gemini_text_then_tool", _text_then_tool(11))
    yield _stream("gemini_tool_pieces", _streamed(12))
    two = request("Two greetings, please.", generationConfig={"candidateCount": 2})
    yield CorpusStream("gemini_two_choices", DIALECT, two, _two_choices(13), "choices")
    code = request("Compute it.", tools=[{"codeExecution": {}}])
    yield CorpusStream("gemini_code_execution", DIALECT, code, _code(14), "server tools")
    form = {"responseMimeType": "application/json", "responseSchema": {"type": "OBJECT"}}
    structured = request("As JSON.", generationConfig=form)
    data = _text(15, '{"port": "Vell", "height_m": 3.42, "ok": true}', 19)
    yield CorpusStream("gemini_structured_output", DIALECT, structured, data, "structured output")


def _stream(name: str, data: bytes) -> CorpusStream:
    body = request(f"Tell me about tides ({name}).", generationConfig={"maxOutputTokens": 4_000})
    return CorpusStream(name, DIALECT, body, data)


def _text(number: int, text: str, *sizes: int, **framing: object) -> bytes:
    return GeminiWriter(number, **framing).text(pieces(text, *sizes)).end(**SIGNED)  # type: ignore[arg-type]


def _thoughts(number: int) -> bytes:
    writer = GeminiWriter(number).text(pieces(prose.REASONING, 61), thought=True)
    return writer.text(pieces(prose.SHORT, 16)).end(**SIGNED)


def _blocked(number: int) -> bytes:
    writer = GeminiWriter(number).chunk(promptFeedback={"blockReason": "PROHIBITED_CONTENT"})
    return "".join(writer._parts).encode()


def _parallel(number: int) -> bytes:
    """Two calls in one part list, of which the first is signed, and one without arguments."""
    writer = GeminiWriter(number)
    first = {"functionCall": {"id": "c1", "name": "tide_table", "args": TABLE}, **SIGNED}
    writer.parts(first, {"functionCall": {"id": "c2", "name": "log_note", "args": NOTE}})
    return writer.call("now").end()


def _text_then_tool(number: int) -> bytes:
    writer = GeminiWriter(number).text(pieces(prose.PLAIN[:80], 24))
    return writer.call("tide_table", TABLE, **SIGNED).end()


def _streamed(number: int) -> bytes:
    """Arguments in pieces under their paths; an empty piece ends one call, its last piece the other."""
    writer = GeminiWriter(number, index=False).text(pieces("I look it up.", 7))
    writer.parts({"functionCall": {"name": "tide_table", "willContinue": True}, **SIGNED})
    for path, value in (("$.port", "Vell "), ("$.port", "Øst"), ("$.units.height[0]", "m")):
        piece = {"jsonPath": path, "stringValue": value, "willContinue": True}
        writer.piece(partialArgs=[piece], willContinue=True)
    writer.piece(partialArgs=[{"jsonPath": "$.units.height[1]", "stringValue": "ft"}], willContinue=True)
    writer.piece(willContinue=True).piece()
    writer.piece(name="log_note", willContinue=True)
    writer.piece(partialArgs=[{"jsonPath": "$.depth", "numberValue": 0.5}], willContinue=True)
    return writer.piece(partialArgs=[{"jsonPath": "$.ebb", "boolValue": True}]).end()


def _two_choices(number: int) -> bytes:
    writer = GeminiWriter(number)
    for one, other in zip(pieces("Good morning to you.", 6), pieces("Hello, you there!", 6), strict=False):
        writer.text([one]).text([other], choice=1)
    writer.parts({"text": ""}, finish="STOP")
    return writer.end(choice=1)


def _code(number: int) -> bytes:
    writer = GeminiWriter(number)
    writer.parts({"executableCode": {"language": "PYTHON", "code": json.dumps({"a": 1})}})
    writer.parts({"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "3.42\n"}})
    return writer.text(pieces(prose.SHORT, 14)).end()
