"""Runs the server and the client of a benchmark, each in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


@contextmanager
def origin() -> Iterator[str]:
    """A running server; gives its port. Closing its input ends it."""
    command = [sys.executable, "-m", "bench.origin"]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.kill()


def run_client(case: str, port: str, *arguments: object) -> dict[str, Any]:
    command = [sys.executable, "-m", "bench.client", case, port, *map(str, arguments)]
    result = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    if result.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}\n{result.stdout}{result.stderr}")
    readings: dict[str, Any] = json.loads(result.stdout)
    return readings
