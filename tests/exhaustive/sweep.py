"""All cuts of one stream: which are made, and how they are told as one row of docs/cut_outcomes.md."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Literal

from tests.corpus import CorpusStream
from tests.exhaustive.cut import ANYWHERE, BOUNDARY_ONLY, Cut, play
from tests.exhaustive.judge import Verdict, judge
from tests.support.turns import turn_of, wire_turn_of
from tests.support.wire import boundaries

STRATEGIES: tuple[Literal["prefill", "prompt"], ...] = ("prefill", "prompt")
TYPED_EVERY = 7
SECOND_EVERY = 13


class CutFailedError(AssertionError):
    """A cut whose reader got what no rule allows; says how to repeat it."""


def main_cuts(stream: CorpusStream) -> Iterator[Cut]:
    """One cut at every byte: causes rotate fastest, then strategies, then whether the model thinks anew."""
    for offset in range(len(stream.data)):
        yield cut_at(offset)


def cut_at(offset: int) -> Cut:
    """The cut that the rotation gives to an offset."""
    causes, strategies = len(ANYWHERE), len(STRATEGIES)
    return Cut(
        offset,
        ANYWHERE[offset % causes],
        STRATEGIES[offset // causes % strategies],
        rethinks=offset // causes // strategies % 2 == 1,
    )


def more_cuts(stream: CorpusStream) -> Iterator[Cut]:
    """Every cause at every event boundary, typed readers, and second cuts in the reply for the rest."""
    for offset in [0, *boundaries(stream.data)[:-1]]:
        for strategy in STRATEGIES:
            for cause in (*ANYWHERE, BOUNDARY_ONLY):
                yield Cut(offset, cause, strategy)
    for offset in range(0, len(stream.data), TYPED_EVERY):
        yield replace(cut_at(offset), reader="typed")
    for offset in range(0, len(stream.data), SECOND_EVERY):
        yield replace(cut_at(offset), second=offset * 37 % 1000)


def sweep(stream: CorpusStream, cuts: Iterable[Cut], *, sdk_every: int = 1) -> Counter[Verdict]:
    """Play and judge each cut; the first that is not allowed ends the sweep.

    Where `sdk_every` is above 1 the small reader stands in for the SDK in all others.
    """
    verdicts: Counter[Verdict] = Counter()
    for number, cut in enumerate(cuts):
        read = turn_of if number % sdk_every == 0 else wire_turn_of
        try:
            verdicts[judge(play(stream, cut), read)] += 1
        except Exception as error:
            raise CutFailedError(f"{stream.name}: {cut}: {error}") from error
    return verdicts
