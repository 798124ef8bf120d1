"""Telling the sinks and the collectors of a run, unless it turns out to be none of ours."""

from __future__ import annotations

from ..observe.hooks import RunEvent
from ..recovery.states import RunInput
from ..types import Outcome
from .spec import RunSpec, Services


class Teller:
    """Holds back the first request's record until something comes of it."""

    def __init__(self, spec: RunSpec, services: Services) -> None:
        self._sinks = services.sinks
        self._collectors = spec.collectors
        self._discarded = False
        self._held: list[RunEvent] = []

    def tell(self, record: RunEvent) -> None:
        """Tell of one arrow."""
        self._held.append(record)
        first = record.input is RunInput.REQUEST and record.attempt == 1 and len(self._held) == 1
        if first and not self._discarded:
            return
        told, self._held = self._held, []
        for each in told if not self._discarded else ():
            self._sinks.record(each)

    def discard(self) -> None:
        """This was no stream after all: nobody is told about it."""
        self._discarded = True
        self._held.clear()

    def end(self, outcome: Outcome) -> None:
        """Tell who collects outcomes."""
        for collect in self._collectors if not self._discarded else ():
            collect(outcome)
