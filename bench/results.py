"""What one run of the benchmarks measured, as its JSON file tells."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median, quantiles
from typing import Any


@dataclass
class Results:
    """`rows`: microseconds a unit, by row and side. `readings`: what a client process printed, by name."""

    rows: dict[str, dict[str, float]] = field(default_factory=dict)
    readings: dict[str, dict[str, Any]] = field(default_factory=dict)

    @classmethod
    def load(cls, path: Path) -> Results:
        results = cls()
        for benchmark in json.loads(path.read_text("utf-8"))["benchmarks"]:
            facts = benchmark["extra_info"]
            if "readings" in facts:
                results.readings[facts["name"]] = facts["readings"]
            else:
                side_us = benchmark["stats"]["min"] / facts["units"] * 1e6
                results.rows.setdefault(facts["row"], {})[facts["side"]] = side_us
        results._add_client_rows()
        return results

    def _add_client_rows(self) -> None:
        for name, readings in self.readings.items():
            if name.startswith("client"):
                self.rows[name] = {side: median(readings[side]) for side in ("seamstream", "bare")}
            elif name == "typed stream":
                self.rows[name] = readings

    def times_faster(self, row: str, side: str) -> float:
        return self.rows[row][side] / self.rows[row]["seamstream"]

    def times_slower(self, row: str, side: str) -> float:
        return self.rows[row]["seamstream"] / self.rows[row][side]

    def growth(self, row: str, from_row: str) -> float:
        return self.rows[row]["seamstream"] / self.rows[from_row]["seamstream"]

    def added_p99_ms(self, name: str) -> float:
        return p99(self.readings[name]["seamstream"]) - p99(self.readings[name]["bare"])

    def kib_a_stream(self) -> float:
        ours, bare = self.readings["memory, seamstream"], self.readings["memory, bare"]
        return (ours["resident_kib"] - bare["resident_kib"]) / ours["alive"]

    def lost_streams(self) -> float:
        return float(self.readings["memory, bare"]["alive"] - self.readings["memory, seamstream"]["alive"])

    def latencies(self) -> Iterator[tuple[str, str, float, float]]:
        """What, side, median and p99 in milliseconds."""
        for name in ("first token", "reconnect"):
            for side, values_ms in self.readings[name].items():
                yield name, side, median(values_ms), p99(values_ms)

    def events_per_read(self) -> Iterator[tuple[str, float]]:
        for name, readings in self.readings.items():
            if "events_per_read" in readings:
                yield name, readings["events_per_read"]

    def detail(self) -> Iterator[tuple[str, str, float, float]]:
        """Row, side, microseconds a unit, and how many times seamstream's."""
        for row, sides in self.rows.items():
            for side, value_us in sides.items():
                yield row, side, value_us, value_us / sides["seamstream"]


def p99(values: list[float]) -> float:
    return quantiles(values, n=100)[98]
