"""B70: arguments in one-character deltas froze event loops, because every delta parsed all of them again."""

from __future__ import annotations

import time

import pytest

from seamstream._core import JsonScanner

DELTAS = 200_000
WINDOW = 5_000


@pytest.fixture(scope="module")
def fastest_windows_s() -> tuple[float, float]:
    """The fastest window of the first and of the last fifth: other programs only ever add time."""
    document = b'{"content":"' + b"x" * DELTAS + b'"}'
    scanner = JsonScanner()
    windows_s = []
    for start in range(0, len(document), WINDOW):
        deltas = [document[index : index + 1] for index in range(start, min(start + WINDOW, len(document)))]
        begun_s = time.perf_counter()
        for delta in deltas:
            scanner.push(delta)
        windows_s.append(time.perf_counter() - begun_s)
    assert scanner.state == "complete"
    whole_windows_s = windows_s[: DELTAS // WINDOW]
    fifth = len(whole_windows_s) // 5
    return min(whole_windows_s[:fifth]), min(whole_windows_s[-fifth:])


def test_b70_a_late_delta_costs_what_an_early_one_costs(fastest_windows_s: tuple[float, float]) -> None:
    early_s, late_s = fastest_windows_s
    assert late_s < 2 * early_s


def test_b70_the_display_form_is_there_at_any_delta_without_a_second_read() -> None:
    scanner = JsonScanner()
    scanner.push(b'{"content":"' + b"x" * DELTAS)
    assert scanner.suffix() == '"}'
    assert scanner.display_cut() == len('{"content":"') + DELTAS
