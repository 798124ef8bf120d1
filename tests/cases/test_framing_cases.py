"""Reported cases of the framing layer that are too large to store or that need more than a snapshot."""

from __future__ import annotations

import time

from seamstream._core import Splice, SseDecoder
from tests.support.memory import peak_growth_bytes

MIB = 1 << 20


def _chat_event(text: str) -> bytes:
    return b'data: {"choices":[{"index":0,"delta":{"content":"' + text.encode() + b'"}}]}\n\n'


def test_b06_one_blank_at_most_is_taken_after_the_colon() -> None:
    assert [event.data for event in SseDecoder().feed(b"data:  x\n\ndata:y\n\ndata: z\n\n")] == [
        " x",
        "y",
        "z",
    ]


def test_b09_retry_and_the_last_id_stay_readable() -> None:
    decoder = SseDecoder()
    decoder.feed(b"retry: 1500\n\nid: 41\n\nid: 42\ndata: {}\n\n: beat\n\ndata:\n\n")
    assert (decoder.retry_ms, decoder.last_event_id) == (1500, "42")


def test_b15_two_megabytes_in_one_event() -> None:
    splice = Splice("openai-chat")
    data = _chat_event("A" * 2_000_000)
    out = b"".join(splice.feed(data[at : at + 4096]) for at in range(0, len(data), 4096))
    splice.cut()
    assert splice.snapshot()["text"] == "A" * 2_000_000
    assert out == data


def test_b16_a_line_that_never_ends_is_a_typed_error_in_bounded_memory() -> None:
    splice = Splice("openai-chat", max_event_bytes=4 * MIB)
    read = b"x" * MIB
    with peak_growth_bytes() as growth:
        splice.feed(b"data: ")
        for _ in range(256):
            splice.feed(read)
    assert splice.error is not None
    assert splice.error[:2] == ("frame_too_large", "max_event_bytes")
    assert growth() < 24 * MIB
    assert len(splice.pending()) <= 6 * MIB


def test_b16_thousands_of_events_in_one_read_cost_linear_time() -> None:
    """Quadratic work would make it 64 and 324 times as long; what is allowed leaves room for the caches."""
    event = _chat_event("A" * 1_650)

    def seconds(count: int) -> float:
        read, times = event * count, []
        for _ in range(3):
            splice, begin = Splice("openai-chat"), time.perf_counter()
            splice.feed(read)
            times.append(time.perf_counter() - begin)
        return min(times)

    one_thousand = seconds(1_000)
    assert seconds(8_000) / one_thousand < 8 * 3
    assert seconds(18_000) / one_thousand < 18 * 6
