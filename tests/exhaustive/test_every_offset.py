"""Every stream of the corpus cut at every byte, and the committed table of what its reader gets."""

from __future__ import annotations

import pytest

from tests.corpus import STREAMS, CorpusStream
from tests.exhaustive import table
from tests.exhaustive.sweep import main_cuts, more_cuts, sweep

pytestmark = [pytest.mark.exhaustive, pytest.mark.timeout(600)]

LONGEST_FIRST = sorted(STREAMS, key=lambda stream: -len(stream.data))
PAIRS_AT_LEAST = 100_000
LIVE_UNDER_STALL = "tool"


@pytest.mark.parametrize("stream", LONGEST_FIRST, ids=str)
def test_a_cut_at_every_byte(stream: CorpusStream) -> None:
    """The row also holds the number of cuts, so the committed table counts what was really played."""
    verdicts = sweep(stream, main_cuts(stream))
    assert sum(verdicts.values()) == len(stream.data)
    assert table.committed_rows()[stream.name] == table.row(stream, verdicts)


@pytest.mark.parametrize("stream", LONGEST_FIRST, ids=str)
def test_every_cause_at_every_boundary_typed_readers_and_second_cuts(stream: CorpusStream) -> None:
    verdicts = sweep(stream, more_cuts(stream))
    assert verdicts["whole"] + verdicts["salvaged"] > 0 or stream.unrecoverable is not None
    assert verdicts["restart"]


def test_the_table_holds_every_stream_and_enough_cuts() -> None:
    rows = table.committed_rows()
    assert list(rows) == [stream.name for stream in STREAMS]
    assert sum(map(table.cuts_in, rows.values())) >= PAIRS_AT_LEAST


@pytest.mark.parametrize("stream", STREAMS, ids=str)
def test_honest_failures_are_where_they_are_allowed(stream: CorpusStream) -> None:
    """n>1, server-side tools, structured output, reasoning items, calls gone live (some only in a stall)."""
    failures = table.failures_in(table.committed_rows()[stream.name])
    if stream.unrecoverable is None and LIVE_UNDER_STALL not in stream.name:
        assert failures == 0
    elif stream.unrecoverable is not None:
        assert failures > 0
