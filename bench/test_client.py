"""The middleware and the typed stream on real sockets, next to plain aiohttp and AsyncOpenAI.

The clients run in processes of their own and take turns there; the benchmark's own time is of no interest.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from bench.processes import origin, run_client

BURST_EVENTS = 20_000
OPEN_STREAMS = 10_000


@pytest.fixture(scope="module")
def port() -> Iterator[str]:
    with origin() as port:
        yield port


def record(benchmark: BenchmarkFixture, name: str, case: str, *arguments: object) -> None:
    readings = benchmark.pedantic(run_client, args=(case, *arguments), rounds=1)
    benchmark.extra_info.update(name=name, readings=readings)


@pytest.mark.parametrize(("name", "per_write", "gap_us"), [
    ("client never idle, one event a write", 1, 0),
    ("client never idle, four events a write", 4, 0),
    ("client, one event a read", 1, 15),
    ("client, four events a read", 4, 30),
])  # fmt: skip
def test_cpu(benchmark: BenchmarkFixture, port: str, name: str, per_write: int, gap_us: int) -> None:
    record(benchmark, name, "cpu", port, BURST_EVENTS // (2 if gap_us else 1), per_write, gap_us)


def test_first_token(benchmark: BenchmarkFixture, port: str) -> None:
    record(benchmark, "first token", "first_token", port, 1000)


@pytest.mark.parametrize("side", ["bare", "seamstream"])
def test_memory(benchmark: BenchmarkFixture, port: str, side: str) -> None:
    record(benchmark, f"memory, {side}", "memory", port, side, OPEN_STREAMS)


def test_reconnect(benchmark: BenchmarkFixture, port: str) -> None:
    record(benchmark, "reconnect", "reconnect", port, 150)


def test_typed_stream(benchmark: BenchmarkFixture, port: str) -> None:
    record(benchmark, "typed stream", "typed", port, 100, 3)
