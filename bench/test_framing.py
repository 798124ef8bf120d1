"""Framing: bytes to events, at the size of a TCP segment and at one event a read."""

from __future__ import annotations

import codecs
from collections.abc import Callable

import pytest
from httpx_sse._decoders import SSEDecoder as HttpxDecoder
from httpx_sse._decoders import SSELineDecoder
from openai._streaming import SSEDecoder as OpenAIDecoder
from pytest_benchmark.fixture import BenchmarkFixture

from bench.measure import measure
from bench.payloads import chat
from seamstream._core import SseDecoder


def with_seamstream(reads: list[bytes]) -> list[str]:
    decoder = SseDecoder()
    return [event.data for read in reads for event in decoder.feed(read)]


def with_httpx_sse(reads: list[bytes]) -> list[str]:
    text, lines, decoder = codecs.getincrementaldecoder("utf-8")(), SSELineDecoder(), HttpxDecoder()
    found = (decoder.decode(line) for read in reads for line in lines.decode(text.decode(read)))
    return [event.data for event in found if event is not None]


def with_openai(reads: list[bytes]) -> list[str]:
    return [event.data for event in OpenAIDecoder().iter_bytes(iter(reads))]


@pytest.mark.parametrize("shape", ["1,400-byte reads", "one event a read"])
@pytest.mark.parametrize("decode", [with_seamstream, with_httpx_sse, with_openai])
def test_framing(benchmark: BenchmarkFixture, decode: Callable[[list[bytes]], list[str]], shape: str) -> None:
    payload = chat()
    reads = payload.reads() if shape == "1,400-byte reads" else list(payload.events)
    side = decode.__name__.removeprefix("with_")
    found = measure(benchmark, f"framing, {shape}", side, len(payload.events), lambda: decode(reads))
    assert found == [event[len("data: ") : -2].decode() for event in payload.events]
