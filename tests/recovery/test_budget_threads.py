"""The accounts of a target under many threads, as synchronous transports use them."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from seamstream.recovery.retry_budget import RetryBudget

THREADS = 8
ROUNDS = 400


@contextmanager
def hasty_switches() -> Iterator[None]:
    """Switch threads as often as possible, so that an unprotected step is interrupted."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def in_threads(work: Callable[[], None]) -> None:
    faults: list[BaseException] = []
    start = threading.Barrier(THREADS)

    def guarded() -> None:
        start.wait()
        try:
            work()
        except BaseException as fault:
            faults.append(fault)

    threads = [threading.Thread(target=guarded) for _ in range(THREADS)]
    with hasty_switches():
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert faults == []


def test_no_stream_and_no_slot_is_lost_or_given_twice() -> None:
    budgets, most = RetryBudget(min_concurrency=2), list[int]()

    def work() -> None:
        for round_ in range(ROUNDS):
            target = budgets.target("https://a")
            target.opened(float(round_))
            target.cut(float(round_), inferred=True)
            if target.try_acquire():
                most.append(target.recovering)
                target.release()
            target.spread_s(float(round_), 0.5)
            target.distrust(float(round_))
            target.closed()

    in_threads(work)
    target = budgets.target("https://a")
    assert (target.open_streams, target.recovering) == (0, 0)
    assert max(most) <= 2
    assert len(budgets) == 1


def test_a_target_has_one_account_however_many_ask_for_it_first() -> None:
    budgets, seen = RetryBudget(), set[int]()

    def work() -> None:
        for number in range(ROUNDS):
            target = budgets.target(f"https://{number}")
            target.opened(0.0)
            seen.add(id(target))

    in_threads(work)
    assert len(seen) == ROUNDS
    assert all(budgets.target(f"https://{number}").open_streams == THREADS for number in range(ROUNDS))
