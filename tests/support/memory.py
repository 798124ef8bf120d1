"""How much the process grew while something ran, memory outside the Python heap included (Linux)."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

STATUS = Path("/proc/self/status")
CLEAR_PEAK = Path("/proc/self/clear_refs")


@contextmanager
def peak_growth_bytes() -> Iterator[Callable[[], int]]:
    """Gives a function that tells how far resident memory rose above what it was at the start."""
    gc.collect()
    CLEAR_PEAK.write_text("5")
    before = _kib("VmRSS")
    yield lambda: (_kib("VmHWM") - before) * 1024


def _kib(field: str) -> int:
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith(field))
    return int(line.split()[1])
