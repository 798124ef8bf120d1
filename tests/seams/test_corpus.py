"""Every continuation gets its right verdict, however it is cut, in every protocol; how often is printed."""

from __future__ import annotations

import random

import pytest

from seamstream.testing import Dialect
from tests.corpus import STREAMS
from tests.seams.corpus import REFUSED, Entry, entries
from tests.seams.playing import play, right

DIALECTS: list[Dialect] = sorted({stream.dialect for stream in STREAMS})
ENTRIES = entries()
MISSED = {
    "exact: a letter that announces its own continuation",
    "exact: somebody is sorry without quotation marks",
    "exact: a first verse that comes again",
}
"""Continuations that fit and are refused all the same: the price of a rule that is right elsewhere."""
LEAST_ENTRIES = 120


def _cut(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


def _cut_at_random(text: str, seed: int) -> list[str]:
    dice, pieces, at = random.Random(seed), list[str](), 0
    while at < len(text):
        size = dice.randint(1, 40)
        pieces.append(text[at : at + size])
        at += size
    return pieces


def every_cut(text: str) -> list[list[str]]:
    """The text whole, in pieces of some sizes, at random, and in two at every place."""
    sizes = (len(text) or 1, 1, 2, 7, 23, 120)
    halves = [[text[:at], text[at:]] for at in range(1, len(text))]
    return [
        *(_cut(text, size) for size in sizes),
        *(_cut_at_random(text, seed) for seed in range(5)),
        *halves,
    ]


def expected(entry: Entry) -> str:
    return REFUSED if str(entry) in MISSED else entry.verdict


@pytest.mark.parametrize("entry", ENTRIES, ids=str)
def test_the_verdict_is_right_however_the_reply_is_cut(entry: Entry) -> None:
    if str(entry) in MISSED:
        assert play(entry, "openai-chat", [entry.says]).verdict == REFUSED
        return
    for deltas in every_cut(entry.says):
        assert play(entry, "openai-chat", deltas) == right(entry), deltas


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_verdict_is_right_in_every_protocol(dialect: Dialect) -> None:
    for entry in ENTRIES:
        for deltas in (_cut(entry.says, len(entry.says) or 1), _cut(entry.says, 5)):
            for reads in (None, 1, 61):
                decided = play(entry, dialect, deltas, reads)
                assert decided.verdict == expected(entry), (str(entry), deltas, reads)
                if decided.verdict != REFUSED:
                    assert decided == right(entry), (str(entry), deltas, reads)


def test_precision_and_recall(capsys: pytest.CaptureFixture[str]) -> None:
    decided = {entry: play(entry, "openai-chat", _cut(entry.says, 5)) for entry in ENTRIES}
    joined = [entry for entry in ENTRIES if decided[entry].verdict != REFUSED]
    fitting = [entry for entry in ENTRIES if entry.verdict != REFUSED]
    good = [entry for entry in joined if decided[entry] == right(entry)]
    missed = sorted(str(entry) for entry in fitting if decided[entry].verdict == REFUSED)
    precision, recall = len(good) / len(joined), len(good) / len(fitting)
    with capsys.disabled():
        print(f"\nseams: {len(ENTRIES)} continuations, {len(ENTRIES) - len(fitting)} to be refused;", end=" ")
        print(f"precision {precision:.3f}, recall {recall:.3f}; missed: {missed}")
    assert precision == 1.0
    assert set(missed) == MISSED


def test_the_corpus_is_large_and_a_third_of_it_must_be_refused() -> None:
    refused = [entry for entry in ENTRIES if entry.verdict == REFUSED]
    assert len(ENTRIES) >= LEAST_ENTRIES
    assert len(refused) >= len(ENTRIES) / 3
    assert len({str(entry) for entry in ENTRIES}) == len(ENTRIES)
