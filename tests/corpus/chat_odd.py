"""Chat Completions streams with unusual framing, envelopes or endings."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.corpus import prose
from tests.corpus.chat_wire import ChatWriter, request
from tests.corpus.stream import CorpusStream, pieces

SAFE = {"hate": {"filtered": False, "severity": "safe"}, "violence": {"filtered": False, "severity": "safe"}}
REPORT_SCHEMA = {"type": "object", "properties": {"port": {"type": "string"}, "high": {"type": "string"}}}


def streams() -> Iterator[CorpusStream]:
    yield _stream("chat_refusal", _refusal(40))
    yield _stream("chat_usage_chunks", _usage(41), stream_options={"include_usage": True})
    yield _stream("chat_azure", _azure(42))
    yield _stream("chat_azure_late_filters", _azure_late(43))
    yield _stream("chat_comments", _comments(44))
    yield _stream("chat_crlf_no_space", _framed(45, eol="\r\n", space=""))
    yield _stream("chat_cr_only", _framed(46, eol="\r", space=" "))
    yield _stream("chat_obfuscation", _obfuscated(47))
    yield _stream("chat_finish_with_last_text", _finish_with_text(48))
    yield _stream("chat_event_names_and_ids", _named(49))
    two = request("Two greetings, please.", n=2)
    yield CorpusStream("chat_two_choices", "openai-chat", two, _two_choices(50), "choices")
    schema = {"type": "json_schema", "json_schema": {"name": "report", "schema": REPORT_SCHEMA}}
    report = request("The report as JSON.", response_format=schema)
    yield CorpusStream("chat_structured_output", "openai-chat", report, _report(51), "structured output")


def _stream(name: str, data: bytes, **fields: Any) -> CorpusStream:
    return CorpusStream(name, "openai-chat", request(f"Please answer ({name}).", **fields), data)


def _refusal(number: int) -> bytes:
    writer = ChatWriter(number).delta({"role": "assistant", "content": None, "refusal": ""})
    return writer.text(pieces(prose.REFUSAL, 7, 10), key="refusal").finish("stop").done()


def _usage(number: int) -> bytes:
    writer = ChatWriter(number, fields={"usage": None, "service_tier": "default"}, full=True)
    return writer.role().text(pieces(prose.PLAIN, 14, 6)).finish("stop").usage(19, 44).done()


def _azure_head(number: int) -> ChatWriter:
    prompt = [{"prompt_index": 0, "content_filter_results": SAFE}]
    head = {"choices": [], "created": 0, "id": "", "model": "", "object": "", "prompt_filter_results": prompt}
    return ChatWriter(number, full=True).payload(head).role()


def _azure(number: int) -> bytes:
    writer = _azure_head(number)
    for part in pieces(prose.PLAIN[:90], 10, 15):
        choice = {
            "content_filter_results": SAFE,
            "delta": {"content": part},
            "finish_reason": None,
            "index": 0,
        }
        writer.chunk([choice])
    return writer.finish("stop").done()


def _azure_late(number: int) -> bytes:
    """The asynchronous filter reports after the finish reason, in chunks without an object name."""
    writer = _azure_head(number).text(pieces(prose.PLAIN[:90], 10, 15)).finish("stop")
    for end in (45, 90):
        offsets = {"check_offset": end - 45, "start_offset": end - 45, "end_offset": end}
        verdict = {"index": 0, "finish_reason": None, "content_filter_results": SAFE, "delta": {}}
        verdict["content_filter_offsets"] = offsets
        writer.payload({"id": "", "object": "", "created": 0, "model": "", "choices": [verdict]})
    return writer.done()


def _comments(number: int) -> bytes:
    writer = ChatWriter(number).comment("PROCESSING").comment("PROCESSING").role()
    for part in pieces(prose.PLAIN, 12):
        writer.raw(": beat\n").delta({"content": part})
    return writer.comment("").finish("stop").comment("keep-alive").done()


def _framed(number: int, *, eol: str, space: str) -> bytes:
    writer = ChatWriter(number, eol=eol, space=space).comment("hello").role()
    return writer.text(pieces(prose.EMOJI_CJK, 9, 14)).finish("stop").done()


def _obfuscated(number: int) -> bytes:
    writer = ChatWriter(number, full=True).role()
    for turn, part in enumerate(pieces(prose.PLAIN, 5, 20)):
        writer.delta({"content": part}, obfuscation="kQz7Rw2Lp9Vd3Xs"[: 15 - turn % 9])
    return writer.finish("stop").done()


def _finish_with_text(number: int) -> bytes:
    writer = ChatWriter(number).role().text(pieces(prose.PLAIN[:80], 16))
    return writer.delta({"content": "The end."}, finish="stop").done()


def _named(number: int) -> bytes:
    """A gateway that numbers its events and names them; the names carry no meaning in this dialect."""
    writer = ChatWriter(number).role()
    for turn, part in enumerate(pieces(prose.SHORT, 6)):
        writer.raw(f"id: {turn}\nevent: message\n").delta({"content": part})
    return writer.finish("stop").done()


def _two_choices(number: int) -> bytes:
    writer = ChatWriter(number).role(index=0).role(index=1)
    for left, right in zip(pieces("Good morning, Vell.", 5), pieces("Ahoy there, old port", 5), strict=True):
        writer.text([left], index=0).text([right], index=1)
    return writer.finish("stop", index=0).finish("stop", index=1).done()


def _report(number: int) -> bytes:
    document = json.dumps({"port": "Vell", "high": "06:42", "notes": [prose.SHORT, "calm", None]})
    return ChatWriter(number).role().text(pieces(document, 9, 4)).finish("stop").done()
