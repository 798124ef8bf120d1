"""The events that only who comes back to a run gets: what its own reader need not be told."""

from __future__ import annotations

from dataclasses import dataclass

from ..types import Event, Outcome


@dataclass(frozen=True, slots=True)
class Gap(Event):
    """Events are missing: those behind `after` and before `before`. None: it is not known how many, and no
    more will come. `seq` is that of the last one missing, as far as that is known.
    """

    after: int
    before: int | None


@dataclass(frozen=True, slots=True)
class RunEnd(Event):
    """The run is over, and this is how it ended."""

    outcome: Outcome
