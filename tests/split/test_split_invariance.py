"""Whole, byte by byte or at random: the bytes out, the events and the snapshot are the same."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seamstream._core import Splice
from tests.corpus import STREAMS, CorpusStream
from tests.corpus.stream import choices_of
from tests.split.recovered import Scene, scenes
from tests.support.recordings import require_recordings, whole_recordings
from tests.support.wire import spoken

Result = tuple[bytes, list[tuple[Any, ...]], dict[str, Any]]
RECORDED_AT_MOST_BYTES = 20_000


def _pieces(data: bytes, cuts: Iterable[int]) -> list[bytes]:
    places = sorted({0, len(data), *cuts})
    return [data[start:end] for start, end in itertools.pairwise(places)]


def _splice(stream: CorpusStream, reader: Any) -> Splice:
    return Splice(stream.dialect, reader=reader, choices=choices_of(stream))


def _verbatim(stream: CorpusStream, reads: list[bytes]) -> Result:
    bytes_splice, typed_splice = _splice(stream, "bytes"), _splice(stream, "typed")
    out, events = b"", []
    for read in reads:
        out += bytes_splice.feed(read)
        typed_splice.feed(read)
        events += typed_splice.events()
    out += b"" if bytes_splice.done else bytes_splice.cut() + bytes_splice.finish()
    if not typed_splice.done:
        typed_splice.cut()
        typed_splice.finish()
    return out, events + typed_splice.events(), bytes_splice.snapshot()


def _without_done(data: bytes) -> list[list[bytes]]:
    """Where a provider proves the end but sends no `[DONE]`, the missing one is added."""
    return [event for event in spoken(data) if event != [b"data: [DONE]"]]


def _same(result: Result, expected: Result) -> None:
    assert result[0] == expected[0]
    assert result[1] == expected[1]
    assert result[2] == expected[2]


@pytest.mark.parametrize("stream", STREAMS, ids=str)
def test_an_unbroken_stream_byte_by_byte(stream: CorpusStream) -> None:
    whole = _verbatim(stream, [stream.data])
    assert spoken(whole[0]) == spoken(stream.data)
    _same(_verbatim(stream, _pieces(stream.data, range(len(stream.data)))), whole)


@pytest.mark.parametrize("stream", STREAMS, ids=str)
@settings(max_examples=15, deadline=None)
@given(cuts=st.sets(st.integers(0, 20_000), max_size=40))
def test_an_unbroken_stream_cut_at_random(stream: CorpusStream, cuts: set[int]) -> None:
    reads = _pieces(stream.data, (cut % len(stream.data) for cut in cuts))
    _same(_verbatim(stream, reads), _verbatim(stream, [stream.data]))


def test_the_recordings_byte_by_byte() -> None:
    require_recordings()
    for stream in whole_recordings():
        if len(stream.data) <= RECORDED_AT_MOST_BYTES:
            whole = _verbatim(stream, [stream.data])
            assert _without_done(whole[0]) == _without_done(stream.data), stream.name
            _same(_verbatim(stream, _pieces(stream.data, range(len(stream.data)))), whole)


def _recovered(scene: Scene, first: list[bytes], second: list[bytes]) -> Result:
    bytes_splice, typed_splice = _splice(scene.stream, "bytes"), _splice(scene.stream, "typed")
    out, _ = _resumed(bytes_splice, scene, first, second)
    _, events = _resumed(typed_splice, scene, first, second)
    return out, events, bytes_splice.snapshot()


def _resumed(
    splice: Splice, scene: Scene, first: list[bytes], second: list[bytes]
) -> tuple[bytes, list[tuple[Any, ...]]]:
    out = b"".join(splice.feed(read) for read in first) + splice.cut()
    out += splice.resume(scene.plan, exact=scene.exact, quote=scene.quote, stripped=scene.stripped)
    events = splice.events()
    for read in second:
        out += splice.feed(read)
        events += splice.events()
    return out, events


@pytest.mark.parametrize("scene", scenes(), ids=str)
def test_a_recovery_byte_by_byte(scene: Scene) -> None:
    whole = _recovered(scene, [scene.first], [scene.second])
    first = _pieces(scene.first, range(len(scene.first)))
    second = _pieces(scene.second, range(len(scene.second)))
    _same(_recovered(scene, first, second), whole)


@pytest.mark.parametrize("scene", scenes(), ids=str)
@settings(max_examples=15, deadline=None)
@given(
    first=st.sets(st.integers(0, 20_000), max_size=20), second=st.sets(st.integers(0, 20_000), max_size=20)
)
def test_a_recovery_cut_at_random(scene: Scene, first: set[int], second: set[int]) -> None:
    first_reads = _pieces(scene.first, (cut % len(scene.first) for cut in first))
    second_reads = _pieces(scene.second, (cut % len(scene.second) for cut in second))
    whole = _recovered(scene, [scene.first], [scene.second])
    _same(_recovered(scene, first_reads, second_reads), whole)
