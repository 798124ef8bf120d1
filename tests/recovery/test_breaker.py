"""The breaker of a target: when it opens, who may try, and what a try decides."""

from __future__ import annotations

import threading

from seamstream.recovery.breaker import (
    FAILURES_IN_A_ROW,
    MAX_OPEN_S,
    OPEN_S,
    PROBE_S,
    WINDOW_ATTEMPTS,
    WINDOW_S,
    Breaker,
    BreakerState,
)


def opened(at: float = 0.0) -> Breaker:
    breaker = Breaker()
    for _ in range(FAILURES_IN_A_ROW):
        breaker.failed(at)
    return breaker


def test_failures_in_a_row_open_it() -> None:
    breaker = Breaker()
    for _ in range(FAILURES_IN_A_ROW - 1):
        breaker.failed(0.0)
    assert breaker.admit(0.0)
    breaker.failed(0.0)
    assert not breaker.allows(0.0)
    assert breaker.state(0.0) is BreakerState.OPEN


def test_one_success_between_them_keeps_it_closed() -> None:
    breaker = Breaker()
    for _ in range(3):
        for _ in range(FAILURES_IN_A_ROW - 1):
            breaker.failed(0.0)
        breaker.succeeded(0.0)
        breaker.succeeded(0.0)
        breaker.succeeded(0.0)
        breaker.succeeded(0.0)
    assert breaker.allows(0.0)


def test_half_of_many_attempts_open_it_within_the_window_only() -> None:
    for gap_s, state in ((0.1, BreakerState.OPEN), (WINDOW_S / 10, BreakerState.CLOSED)):
        breaker = Breaker()
        for number in range(WINDOW_ATTEMPTS):
            (breaker.failed if number % 2 else breaker.succeeded)(number * gap_s)
        assert breaker.state((WINDOW_ATTEMPTS - 1) * gap_s) is state


def test_after_a_while_one_probe_decides() -> None:
    breaker = opened()
    assert not breaker.admit(OPEN_S - 0.1)
    assert breaker.state(OPEN_S) is BreakerState.HALF_OPEN
    assert breaker.admit(OPEN_S)
    assert not breaker.admit(OPEN_S)
    breaker.succeeded(OPEN_S)
    assert breaker.state(OPEN_S) is BreakerState.CLOSED


def test_a_failed_probe_doubles_the_time_up_to_a_limit() -> None:
    breaker, now, times = opened(), 0.0, list[float]()
    for _ in range(6):
        before = now
        while not breaker.admit(now):
            now += 0.5
        times.append(now - before)
        breaker.failed(now)
    assert times == [OPEN_S, 2 * OPEN_S, 4 * OPEN_S, 8 * OPEN_S, MAX_OPEN_S, MAX_OPEN_S]


def test_a_probe_that_says_nothing_blocks_nobody_for_ever() -> None:
    breaker = opened()
    assert breaker.admit(OPEN_S)
    breaker.abandoned()
    assert breaker.admit(OPEN_S)
    assert not breaker.admit(OPEN_S + PROBE_S - 0.1)
    assert breaker.admit(OPEN_S + PROBE_S)


def test_of_many_threads_one_becomes_the_probe() -> None:
    breaker, admitted = opened(), list[bool]()
    start = threading.Barrier(8)

    def attempt() -> None:
        start.wait()
        admitted.append(breaker.admit(OPEN_S))

    threads = [threading.Thread(target=attempt) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(admitted) == [False] * 7 + [True]
