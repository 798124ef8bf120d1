"""Is the tool call whole: asked on every delta of 12 bytes, while the arguments grow."""

from __future__ import annotations

import json

import jiter
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from bench.measure import measure
from bench.payloads import words
from seamstream._core import JsonScanner

DELTA_BYTES = 12
KB = 1000


def deltas(size_bytes: int) -> list[bytes]:
    content = "".join(words(size_bytes // 4))
    document = json.dumps({"path": "notes.md", "content": content}, ensure_ascii=False).encode()
    cut = document[: size_bytes - 2].decode(errors="ignore").encode() + b'"}'
    return [cut[start : start + DELTA_BYTES] for start in range(0, len(cut), DELTA_BYTES)]


def scan(parts: list[bytes]) -> str:
    scanner = JsonScanner()
    state = "open"
    for part in parts:
        state = scanner.push(part)
    return state


def parse_again(parts: list[bytes]) -> str:
    """What the SDKs do: parse all that has come so far, for each delta. It does not tell if it is whole."""
    buffer = b""
    for part in parts:
        buffer += part
        jiter.from_json(buffer, partial_mode=True)
    return "complete"


@pytest.mark.parametrize("size_kb", [1, 8, 64, 1000])
def test_scanner(benchmark: BenchmarkFixture, size_kb: int) -> None:
    parts = deltas(size_kb * KB)
    state = measure(benchmark, f"arguments, {size_kb} KB", "seamstream", len(parts), lambda: scan(parts))
    assert state == "complete"


@pytest.mark.parametrize("size_kb", [1, 8, 64])
def test_jiter(benchmark: BenchmarkFixture, size_kb: int) -> None:
    parts = deltas(size_kb * KB)
    measure(benchmark, f"arguments, {size_kb} KB", "jiter", len(parts), lambda: parse_again(parts))
