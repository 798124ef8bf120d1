"""What the runs on the real model came to, gathered over the tests and printed at the end of the run."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import pytest


@dataclass(slots=True)
class Figures:
    """`recovered` counts cut answers that came out whole; the others are shares of it."""

    recovered: Counter[str] = field(default_factory=Counter)
    as_unbroken: Counter[str] = field(default_factory=Counter)
    ends: Counter[tuple[str, str]] = field(default_factory=Counter)
    """How cuts that were continued by `prompt` ended, by the kind of reader."""

    def note(self, dialect: str, *, as_unbroken: bool) -> None:
        self.recovered[dialect] += 1
        self.as_unbroken[dialect] += as_unbroken

    def note_end(self, reader: str, end: str) -> None:
        self.ends[reader, end] += 1

    def lines(self) -> list[str]:
        return [*self._continued(), *self._prompted()]

    def _prompted(self) -> list[str]:
        return [
            f"prompt, {reader}: {count} of {sum(self._of(reader))} cuts {end}"
            for (reader, end), count in sorted(self.ends.items())
        ]

    def _of(self, reader: str) -> list[int]:
        return [count for (name, _), count in self.ends.items() if name == reader]

    def _continued(self) -> list[str]:
        return [
            f"{dialect}: {count} cut answers equal prefix + the model's own continuation; "
            f"{self.as_unbroken[dialect]} of them also equal the unbroken answer"
            for dialect, count in sorted(self.recovered.items())
        ]


FIGURES_KEY = pytest.StashKey[Figures]()
