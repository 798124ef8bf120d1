"""Endless lines, deep nesting, broken UTF-8, passed limits: bounded memory, typed errors or a mark."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from seamstream._core import JsonScanner, Splice
from tests.corpus import STREAMS, CorpusStream, by_name, prose
from tests.corpus.stream import choices_of
from tests.support.memory import peak_growth_bytes
from tests.support.wire import spoken

MIB = 1 << 20
DIALECTS = ["openai-chat", "anthropic"]
DEEP = 100_000
GIGABYTE_READS = 1024
MUST_END = 4


@pytest.mark.parametrize("reader", ["bytes", "typed"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_one_gigabyte_of_one_endless_line(dialect: Any, reader: Any) -> None:
    """A typed error at the limit; who wants the stream nevertheless gets the rest of it untouched."""
    splice, read, fed = Splice(dialect, reader=reader), b"x" * MIB, 0
    with peak_growth_bytes() as growth:
        splice.feed(b'data: {"a": "')
        while not splice.flags & MUST_END:
            splice.feed(read)
            fed += 1
        assert splice.error is not None
        assert splice.error[:2] == ("frame_too_large", "max_event_bytes")
        assert len(splice.degrade("max_event_bytes")) <= 18 * MIB
        for _ in range(GIGABYTE_READS - fed):
            assert splice.feed(read) is read
    assert fed <= 17
    assert growth() < 64 * MIB


def _event_with(dialect: str, value: str) -> bytes:
    kind = "chat.completion.chunk" if dialect == "openai-chat" else "future_event"
    data = f'data: {{"type":"{kind}","deep":{value}}}\n\n'
    return data.encode() if dialect == "openai-chat" else f"event: {kind}\n{data}".encode()


@pytest.mark.parametrize(
    "nested", ["[" * DEEP + "]" * DEEP, '{"a":' * DEEP + "1" + "}" * DEEP], ids=["lists", "objects"]
)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_hundred_thousand_levels_in_a_field_that_nobody_reads(dialect: Any, nested: str) -> None:
    """Such a field is skipped without recursion: it passes, and what follows is still understood."""
    stream = by_name("chat_text_plain" if dialect == "openai-chat" else "anthropic_text_plain")
    splice, event = Splice(dialect), _event_with(dialect, nested)
    with peak_growth_bytes() as growth:
        out = splice.feed(event + stream.data)
    assert out == event + stream.data
    assert splice.snapshot()["text"] == prose.PLAIN
    assert growth() < 16 * MIB


def test_a_hundred_thousand_levels_in_tool_arguments() -> None:
    assert JsonScanner().push(b'{"a":' * DEEP) == "invalid"
    call = '{"index":0,"id":"c","type":"function","function":{"name":"f","arguments":"'
    opening = f'data: {{"choices":[{{"index":0,"delta":{{"tool_calls":[{call}'.encode()
    data = opening + b"[" * DEEP + b'"}}]}}]}\n\n'
    splice = Splice("openai-chat")
    assert splice.feed(data) == data
    assert splice.degraded == "max_json_depth"
    splice.cut()
    assert splice.snapshot()["completed_tool_calls"] == ()


@pytest.mark.parametrize(
    "junk", [b"\xff\xfe\xc0", b"\xf0\x9f", b"\xed\xa0\x80"], ids=["never", "half", "surrogate"]
)
def test_ten_megabytes_of_invalid_utf8_in_an_answer(junk: bytes) -> None:
    """Bytes pass as they are; typed text shows U+FFFD and loses nothing around it."""
    body = junk * (MIB // len(junk))
    event = b'data: {"choices":[{"index":0,"delta":{"content":"a' + body + b'z"}}]}\n\n'
    bytes_splice, typed_splice = Splice("openai-chat"), Splice("openai-chat", reader="typed")
    with peak_growth_bytes() as growth:
        for _ in range(10):
            assert bytes_splice.feed(event) == event
            typed_splice.feed(event)
    assert growth() < 200 * MIB
    text = "".join(part[1] for part in typed_splice.events() if part[0] == "text")
    assert text.count("a") == text.count("z") == 10
    assert set(text) == {"a", "\ufffd", "z"}


def test_ten_megabytes_of_invalid_utf8_without_framing() -> None:
    splice = Splice("anthropic")
    junk = b"\xff\xfe\xc0\x80\n" * (10 * MIB // 5)
    with peak_growth_bytes() as growth:
        out = b"".join(splice.feed(junk[at : at + MIB]) for at in range(0, len(junk), MIB)) + splice.expire()
    assert out + splice.pending() == junk
    assert growth() < 80 * MIB


LIMITS: list[dict[str, Any]] = [{"max_turn_bytes": 64}, {"max_json_depth": 2}, {"max_parts": 1}]


def _byte_reads(stream: CorpusStream) -> Iterator[bytes]:
    for at in range(0, len(stream.data), 100):
        yield stream.data[at : at + 100]


@pytest.mark.parametrize("limits", LIMITS, ids=lambda limits: next(iter(limits)))
@pytest.mark.parametrize("stream", STREAMS, ids=str)
def test_a_passed_limit_leaves_a_healthy_stream_verbatim(
    stream: CorpusStream, limits: dict[str, Any]
) -> None:
    splice = Splice(stream.dialect, choices=choices_of(stream), **limits)
    out = b"".join(splice.feed(read) for read in _byte_reads(stream)) + splice.expire()
    assert spoken(out + splice.pending()) == spoken(stream.data)
    assert len(out + splice.pending()) == len(stream.data)


@pytest.mark.parametrize(
    ("name", "limits"),
    [
        ("chat_text_long", LIMITS[0]),
        ("anthropic_text_long", LIMITS[0]),
        ("chat_tool_one", LIMITS[1]),
        ("anthropic_tool_one", LIMITS[1]),
        ("chat_tool_parallel", LIMITS[2]),
        ("anthropic_tool_parallel", LIMITS[2]),
    ],
)
def test_a_passed_limit_is_marked_with_its_name(name: str, limits: dict[str, Any]) -> None:
    stream = by_name(name)
    splice = Splice(stream.dialect, **limits)
    for read in _byte_reads(stream):
        splice.feed(read)
    assert splice.degraded is not None
    assert next(iter(limits)) in splice.degraded
    assert splice.snapshot()["degraded"] == splice.degraded
