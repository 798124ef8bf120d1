"""The system's clock tells time; the fake one is moved, and wakes what waits for it in order."""

from __future__ import annotations

import asyncio
import time
import uuid

import pytest

from seamstream.clock import Clock, SystemClock
from seamstream.testing.clock import FakeClock


class TestSystemClock:
    def test_it_tells_the_times_of_the_machine(self) -> None:
        clock = SystemClock()
        before, between, after = time.monotonic(), clock.monotonic(), time.monotonic()
        assert before <= between <= after
        before, between, after = time.time(), clock.wall(), time.time()
        assert before <= between <= after

    def test_chance_and_ids(self) -> None:
        clock = SystemClock()
        draws = {clock.random() for _ in range(50)}
        assert all(0.0 <= draw < 1.0 for draw in draws)
        assert len(draws) > 1
        ids = {clock.uuid() for _ in range(50)}
        assert len(ids) == 50
        assert all(uuid.UUID(hex=one).version == 4 for one in ids)

    async def test_timers_are_those_of_the_loop(self) -> None:
        clock, fired = SystemClock(), asyncio.Event()
        clock.call_later(0.0, fired.set)
        late = clock.call_later(3600.0, fired.clear)
        late.cancel()
        await clock.sleep(0.0)
        await asyncio.wait_for(fired.wait(), 5.0)


def test_both_are_clocks() -> None:
    clocks: list[Clock] = [SystemClock(), FakeClock()]
    assert len(clocks) == 2


class TestTick:
    def test_both_times_move_together_and_only_when_told(self) -> None:
        clock = FakeClock(monotonic=100.0, wall=5000.0)
        assert (clock.monotonic(), clock.wall()) == (100.0, 5000.0)
        clock.tick(2.5)
        assert (clock.monotonic(), clock.wall()) == (102.5, 5002.5)

    def test_timers_fire_in_order_at_their_time(self) -> None:
        clock, seen = FakeClock(monotonic=0.0), []
        for delay in (3.0, 1.0, 2.0, 1.0):
            clock.call_later(delay, lambda delay=delay: seen.append((delay, clock.monotonic())))  # type: ignore[misc]
        clock.tick(2.0)
        assert seen == [(1.0, 1.0), (1.0, 1.0), (2.0, 2.0)]
        assert clock.pending == (1.0,)

    def test_a_cancelled_timer_never_fires(self) -> None:
        clock, seen = FakeClock(), []
        clock.call_later(1.0, lambda: seen.append("no")).cancel()
        clock.tick(5.0)
        assert seen == []

    def test_a_timer_may_set_another_that_is_due_in_the_same_move(self) -> None:
        clock, seen = FakeClock(monotonic=0.0), []
        clock.call_later(1.0, lambda: clock.call_later(1.0, lambda: seen.append(clock.monotonic())) and None)
        clock.tick(3.0)
        assert seen == [2.0]

    def test_a_callback_that_fails_is_not_called_again(self) -> None:
        clock = FakeClock()
        clock.call_later(1.0, lambda: [][0])
        with pytest.raises(IndexError):
            clock.tick(2.0)
        clock.tick(2.0)


class TestAdvance:
    async def test_sleepers_wake_in_order_and_may_sleep_again(self) -> None:
        clock, seen = FakeClock(monotonic=0.0), []

        async def sleeper(name: str, *delays: float) -> None:
            for delay in delays:
                await clock.sleep(delay)
                seen.append((name, clock.monotonic()))

        tasks = [asyncio.create_task(sleeper("a", 1.0, 1.0)), asyncio.create_task(sleeper("b", 1.5))]
        await clock.advance(3.0)
        assert seen == [("a", 1.0), ("b", 1.5), ("a", 2.0)]
        assert clock.monotonic() == 3.0
        await asyncio.gather(*tasks)

    async def test_nobody_wakes_before_their_time(self) -> None:
        clock = FakeClock()
        task = asyncio.create_task(clock.sleep(10.0))
        await clock.advance(9.999)
        assert not task.done()
        await clock.advance(0.001)
        assert task.done()

    async def test_a_cancelled_sleeper_leaves_no_timer(self) -> None:
        clock = FakeClock()
        task = asyncio.create_task(clock.sleep(10.0))
        await clock.advance(1.0)
        assert clock.pending == (9.0,)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert clock.pending == ()


def test_chance_comes_from_the_seed_and_ids_count_up() -> None:
    one, two, other = FakeClock(seed=1), FakeClock(seed=1), FakeClock(seed=2)
    draws = [one.random() for _ in range(5)]
    assert draws == [two.random() for _ in range(5)]
    assert draws != [other.random() for _ in range(5)]
    assert [one.uuid(), one.uuid()] == ["0" * 31 + "1", "0" * 31 + "2"]
