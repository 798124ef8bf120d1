"""Messages streams whose answer is text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.corpus import prose
from tests.corpus.anthropic_wire import AnthropicWriter, request
from tests.corpus.stream import CorpusStream, pieces

SIGNATURE = "EqQBCkgIARABGAIiQL2pT9wYvXb7hQmZ0cJ4sRkU6eN1oFaG8dLxVtPqWiKyB3uCjS5nHzDfEw=="


def streams() -> Iterator[CorpusStream]:
    yield _stream("anthropic_text_plain", _text(1, prose.PLAIN, 5, 9, 13))
    yield _stream("anthropic_text_emoji_cjk", _text(2, prose.EMOJI_CJK, 4, 2, 7))
    yield _stream("anthropic_text_escapes", _text(3, prose.ESCAPES, 6, 5, 11, ascii_only=True))
    yield _stream("anthropic_text_long", _text(4, prose.LONG, 47, 91, 63))
    yield _stream("anthropic_text_code", _text(5, prose.CODE, 8, 4, 13))
    yield _stream("anthropic_text_repeats", _text(6, prose.REPEATS, 9, 16))
    yield _stream("anthropic_text_two_parts", _two_parts(7))
    yield _stream("anthropic_text_max_tokens", _text(8, prose.PLAIN[:150], 11, 6, reason="max_tokens"))
    yield _stream("anthropic_text_stop_sequence", _stop_sequence(9), stop_sequences=["</tide>"])
    yield _stream("anthropic_refusal", _refusal(10))
    yield _stream("anthropic_pings", _pings(11))
    yield _stream("anthropic_crlf_no_space", _text(12, prose.EMOJI_CJK, 9, 14, eol="\r\n", space=""))
    yield _stream("anthropic_usage_twice", _usage_twice(13))
    thinking = {"thinking": {"type": "enabled", "budget_tokens": 1024}}
    yield _stream("anthropic_thinking_text", _thinking(14, prose.REASONING), **thinking)
    yield _stream("anthropic_thinking_omitted", _thinking(15, ""), **thinking)


def _stream(name: str, data: bytes, **fields: Any) -> CorpusStream:
    return CorpusStream(name, "anthropic", request(f"Please answer ({name}).", **fields), data)


def _text(
    number: int, text: str, *sizes: int, reason: str = "end_turn", tokens: int = 70, **framing: Any
) -> bytes:
    writer = AnthropicWriter(number, **framing).start().ping()
    return writer.text(pieces(text, *sizes)).end(reason, tokens)


def _two_parts(number: int) -> bytes:
    """One answer in two adjacent text blocks, the second one opening with a blank."""
    writer = AnthropicWriter(number).start().text(pieces(prose.PLAIN[:96], 12, 7))
    return writer.text(pieces(" " + prose.SHORT, 6)).end("end_turn", 33)


def _stop_sequence(number: int) -> bytes:
    writer = AnthropicWriter(number).start().text(pieces(prose.PLAIN[:100], 10, 13))
    return writer.end("stop_sequence", 25, stop_sequence="</tide>")


def _refusal(number: int) -> bytes:
    details = {"type": "refusal", "category": "general_harms", "explanation": "Markers must stay put."}
    writer = AnthropicWriter(number).start().text(pieces(prose.REFUSAL[:61], 8))
    return writer.end("refusal", 14, stop_details=details)


def _pings(number: int) -> bytes:
    """Pings, comments and an event type nobody knows yet, before, between and after the text."""
    writer = AnthropicWriter(number).raw(": gateway\n\n").start().ping()
    writer.event("capacity_notice", level="normal").open({"type": "text", "text": ""})
    for turn, part in enumerate(pieces(prose.PLAIN, 16)):
        writer.delta("text_delta", text=part)
        if turn % 3 == 1:
            writer.ping().raw(": beat\n\n")
    return writer.close().ping().end("end_turn", 48)


def _usage_twice(number: int) -> bytes:
    """The first message_delta carries running totals only; the stop reason comes with the second."""
    writer = AnthropicWriter(number).start(31).text(pieces(prose.SHORT, 5))
    nothing = {"stop_reason": None, "stop_sequence": None}
    writer.event("message_delta", delta=nothing, usage={"output_tokens": 7})
    return writer.end("end_turn", 18)


def _thinking(number: int, thoughts: str) -> bytes:
    writer = AnthropicWriter(number).start().thinking(pieces(thoughts, 18, 11), SIGNATURE)
    return writer.text(pieces(prose.PLAIN, 9, 15)).end("end_turn", 95)
