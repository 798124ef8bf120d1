"""How a benchmark says what it measured: which row of the table, which side, how many units a round has."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from pytest_benchmark.fixture import BenchmarkFixture

ROUNDS = 15
FAST_SECONDS = 0.02
MAX_REPEATS = 200


def measure(benchmark: BenchmarkFixture, row: str, side: str, units: int, run: Callable[[], Any]) -> Any:
    """A few rounds; a short run is repeated within a round, so that the timer does not matter."""
    benchmark.group = row
    benchmark.extra_info.update(row=row, side=side, units=units)
    return benchmark.pedantic(run, rounds=ROUNDS, iterations=_repeats(run), warmup_rounds=1)


def _repeats(run: Callable[[], Any]) -> int:
    begun = time.perf_counter()
    run()
    seconds = time.perf_counter() - begun
    return max(1, min(MAX_REPEATS, int(FAST_SECONDS / max(seconds, 1e-9))))
