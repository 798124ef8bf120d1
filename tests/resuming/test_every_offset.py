"""Responses that are kept, cut at every byte: readers get the bytes of the unbroken stream and no others."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.corpus import CorpusStream
from tests.resuming.background import ENDINGS, KEPT, Break, play, turn
from tests.support.grammar import assert_well_formed
from tests.support.reading import Reading
from tests.support.turns import turn_of
from tests.support.typed_reader import fold

pytestmark = [pytest.mark.exhaustive, pytest.mark.timeout(600)]
KEEP_ALIVE = b": keep-alive\n\n"
"""What a reader hears while we wait for a provider that is silent; none of the streams has it itself."""
TYPED_EVERY, SECOND_EVERY, WHOLE_EVERY = 5, 3, 3


def _envelope_end(stream: CorpusStream) -> int:
    """Before the first whole event there is nothing that could be asked for."""
    return stream.data.index(b"\n\n" if b"\n\n" in stream.data else b"\r\n\r\n")


@pytest.mark.parametrize("stream", KEPT, ids=str)
def test_a_byte_reader_gets_the_unbroken_bytes(stream: CorpusStream) -> None:
    for offset in range(_envelope_end(stream), len(stream.data)):
        second = offset * 37 % 1000 if offset % SECOND_EVERY == 0 else None
        played = play(stream, Break(offset, ENDINGS[offset % len(ENDINGS)], second, overlap=offset % 3))
        assert played.run.error is None, (offset, played.run.error)
        _check_bytes(stream, played.run.data.replace(KEEP_ALIVE, b""), offset)
        assert set(played.joins) <= {"native"}
        assert turn(played).outcome.kind in ("complete", "recovered", "salvaged")


def _check_bytes(stream: CorpusStream, data: bytes, offset: int) -> None:
    """Comments are not kept by the provider; an event cut in its blank line may get another blank line."""
    assert _lines(data) == _lines(stream.data), offset
    if b"\r" not in stream.data and b"\n:" not in stream.data:
        assert data == stream.data, offset


def _lines(data: bytes) -> list[bytes]:
    return [line for line in data.splitlines() if line and not line.startswith(b":")]


@pytest.mark.parametrize("stream", KEPT, ids=str)
def test_a_typed_reader_gets_the_unbroken_turn(stream: CorpusStream) -> None:
    whole = fold(play(stream, Break(len(stream.data), reader="typed")).run.events)
    for offset in range(_envelope_end(stream), len(stream.data), TYPED_EVERY):
        played = play(stream, Break(offset, ENDINGS[offset % len(ENDINGS)], reader="typed"))
        assert played.run.error is None, offset
        assert fold(played.run.events) == whole, offset
        assert turn(played).text == turn_of(stream.dialect, stream.data).answer.text


@pytest.mark.parametrize("stream", KEPT, ids=str)
def test_what_is_had_only_as_a_whole_makes_the_unbroken_turn(stream: CorpusStream) -> None:
    """Deltas are cut otherwise then, so it is the turn that is the same, for both kinds of reader."""
    whole = _turn(stream, stream.data)
    events = fold(play(stream, Break(len(stream.data), reader="typed")).run.events)
    for offset in range(_envelope_end(stream), len(stream.data), WHOLE_EVERY):
        played = play(stream, Break(offset, ENDINGS[offset % len(ENDINGS)]), polls=True)
        assert played.run.error is None, (offset, played.run.error)
        assert _turn(stream, played.run.data) == whole, offset
        assert_well_formed(stream.dialect, played.run.data, whole=True)
        typed = play(stream, Break(offset, reader="typed"), polls=True)
        assert fold(typed.run.events) == events, offset


def _turn(stream: CorpusStream, data: bytes) -> Reading:
    """What an SDK makes of a stream, whatever steps it took."""
    return replace(turn_of(stream.dialect, data), kinds=())
