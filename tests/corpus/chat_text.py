"""Chat Completions streams whose answer is text."""

from __future__ import annotations

from collections.abc import Iterator

from tests.corpus import prose
from tests.corpus.chat_wire import ChatWriter, request
from tests.corpus.stream import CorpusStream, pieces


def streams() -> Iterator[CorpusStream]:
    yield _stream("chat_text_plain", _writer(1, prose.PLAIN, 7, 12, 4, full=True))
    yield _stream("chat_text_emoji_cjk", _writer(2, prose.EMOJI_CJK, 6, 3, 9))
    yield _stream("chat_text_escapes", _writer(3, prose.ESCAPES, 9, 7, 14, ascii_only=True))
    yield _stream("chat_text_long", _writer(4, prose.LONG, 41, 83, 57))
    yield _stream("chat_text_code", _writer(5, prose.CODE, 12, 6, 17))
    yield _stream("chat_text_repeats", _writer(6, prose.REPEATS, 14, 25))
    yield _stream("chat_text_one_chunk", _writer(7, prose.SHORT, 400))
    yield _stream("chat_text_single_characters", _writer(8, prose.SHORT, 1))
    yield _stream("chat_reasoning_text", _reasoning())
    yield _stream("chat_text_length", _length(), max_tokens=40)
    yield _stream("chat_text_content_filter", _filtered())


def _stream(name: str, data: bytes, **fields: object) -> CorpusStream:
    return CorpusStream(name, "openai-chat", request(f"Please answer ({name}).", **fields), data)


def _writer(number: int, text: str, *sizes: int, **shape: bool) -> bytes:
    writer = ChatWriter(number, **shape)
    return writer.role().text(pieces(text, *sizes)).finish("stop").done()


def _reasoning() -> bytes:
    """As DeepSeek does it: `content` is null while the reasoning runs, then the other way round."""
    writer = ChatWriter(20)
    writer.delta({"role": "assistant", "content": None, "reasoning_content": ""})
    for part in pieces(prose.REASONING, 17, 12):
        writer.delta({"content": None, "reasoning_content": part})
    for part in pieces(prose.PLAIN, 19, 13):
        writer.delta({"content": part, "reasoning_content": None})
    return writer.delta({"content": ""}, finish="stop").usage(31, 88).done()


def _length() -> bytes:
    return ChatWriter(21).role().text(pieces(prose.PLAIN[:140], 8, 11)).finish("length").done()


def _filtered() -> bytes:
    return ChatWriter(22).role().text(pieces(prose.PLAIN[:60], 6, 9)).finish("content_filter").done()
