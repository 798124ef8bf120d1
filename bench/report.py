"""Runs all benchmarks once and writes RESULTS.md: `python -m bench.report`, or `make bench`."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

from bench.goals import GOALS, NOT_MEASURED
from bench.results import Results

FOLDER = Path(__file__).resolve().parent
PACKAGES = ("seamstream", "aiohttp", "uvloop", "openai", "anthropic", "jiter", "httpx-sse", "msgspec")


def run_benchmarks(output: Path) -> None:
    command = [sys.executable, "-m", "pytest", str(FOLDER), "-q", "-o", "timeout=200"]
    # CPU time: these benchmarks do not wait, and what else the machine does is not their cost.
    command += ["--benchmark-quiet", "--benchmark-timer=time.process_time", f"--benchmark-json={output}"]
    subprocess.run(command, cwd=FOLDER.parent, check=True)


def report(results: Results) -> str:
    return "\n".join([
        "# Results",
        "",
        "Written by `make bench`; both sides of a ratio come from the same run. Times are CPU times: of the",
        "best round, or, for clients on real sockets, of the median turn. Latencies are wall time.",
        "",
        machine(),
        "",
        *goal_table(results),
        "",
        "Not measured: " + "; ".join(NOT_MEASURED) + ".",
        "",
        *detail_table(results),
        "",
        *latency_table(results),
        "",
        "Events that a read really brought: "
        + "; ".join(f"{name}: {events:,.3g}" for name, events in results.events_per_read()) + ".",
        "",
    ])  # fmt: skip


def goal_table(results: Results) -> Iterator[str]:
    yield "| what | goal | measured | |"
    yield "|---|---|---|---|"
    for goal in GOALS:
        value = goal.measured(results)
        bound = f"{goal.relation} {goal.bound:,g} {goal.unit}"
        verdict = "met" if goal.is_met(value) else "not yet"
        yield f"| {goal.what} | {bound} | {value:,.3g} {goal.unit} | {verdict} |"


def detail_table(results: Results) -> Iterator[str]:
    yield "| benchmark | side | us an event or delta | times seamstream |"
    yield "|---|---|---|---|"
    for row, side, value_us, ratio in results.detail():
        yield f"| {row} | {side} | {value_us:,.3g} | {ratio:,.3g} |"


def latency_table(results: Results) -> Iterator[str]:
    yield "| latency | side | median ms | p99 ms |"
    yield "|---|---|---|---|"
    for what, side, median_ms, p99_ms in results.latencies():
        yield f"| {what} | {side} | {median_ms:,.3g} | {p99_ms:,.3g} |"


def machine() -> str:
    packages = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return f"Machine: {os.cpu_count()} x {processor()}, {platform.system()}, {python}; {packages}."


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "benchmarks.json"
        run_benchmarks(output)
        text = report(Results.load(output))
    (FOLDER / "RESULTS.md").write_text(text, "utf-8")
    print(text)


if __name__ == "__main__":
    main()
