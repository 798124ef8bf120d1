"""Which attempts in a ledger have a beginning and no end: those of an owner that died while it streamed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Protocol

STARTED: Final = "attempt_started"
ENDED: Final = frozenset({"attempt_succeeded", "attempt_failed", "stream_failed_after_start"})


class Told(Protocol):
    """A ledger entry or a fact on its way there."""

    @property
    def event(self) -> str: ...
    @property
    def attempt(self) -> int: ...
    @property
    def step_id(self) -> str: ...
    @property
    def kind(self) -> str: ...


def lost_attempts(*told: Iterable[Told]) -> list[Told]:
    """The beginnings without an end, in their order."""
    open_ones: dict[int, Told] = {}
    for some in told:
        for each in some:
            if each.event == STARTED:
                open_ones[each.attempt] = each
            elif each.event in ENDED:
                open_ones.pop(each.attempt, None)
    return list(open_ones.values())
