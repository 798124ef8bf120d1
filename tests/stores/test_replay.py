"""Readers that come back: before a run starts, in its middle, behind its end, behind a kill."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import Any

import pytest

from seamstream import (
    ConfigurationError,
    Event,
    Gap,
    InMemoryStreamCheckpointStore,
    Run,
    RunEnd,
    StaleOwner,
    StoreError,
    StreamCutError,
)
from seamstream.stores.memory_backend import MemoryBackend
from seamstream.testing import FakeClock, Fault
from tests.stores.writing import AT_ONCE, WHOLE, read, said, scene, writer


async def test_a_reader_may_come_first(any_store_url: str) -> None:
    async with scene(any_store_url) as here:
        reading = asyncio.create_task(here.replayed())
        run, events = await read(here.ask())
        replayed = await reading
    assert replayed[:-1] == events
    assert isinstance(replayed[-1], RunEnd)
    assert replayed[-1].outcome == run.outcome
    assert [event.seq for event in replayed] == list(range(1, len(events) + 2))


async def test_a_reader_gets_what_it_missed_and_follows(any_store_url: str) -> None:
    async with scene(any_store_url, [Fault.reset(after_events=9)]) as here, here.ask() as run:
        seen = [await anext(run) for _ in range(5)]
        reading = asyncio.create_task(here.replayed(after=3))
        seen += [event async for event in run]
        replayed = await reading
    assert replayed[:-1] == seen[3:]
    assert "recovered" in str(replayed[-1])


async def test_a_reader_may_come_behind_the_end(any_store_url: str) -> None:
    async with scene(any_store_url) as here:
        _, events = await read(here.ask())
        every = await here.replayed()
        assert every[:-1] == events
        for after in (1, len(events) - 1, len(events), len(events) + 1, 10_000):
            assert await here.replayed(after) == every[after:]


async def test_what_a_killed_writer_showed_is_there_and_somebody_goes_on(store_url: str) -> None:
    """SIGKILL in mid-stream: no event that left is missing, and the reader of the log gets the answer."""
    async with scene(store_url, [Fault.stall(after_events=14)]) as here:
        async with writer(store_url, here) as child:
            assert child.stdout is not None
            shown = [(await child.stdout.readline()).split() for _ in range(9)]
            reading = asyncio.create_task(here.replayed())
            child.kill()
            shown += [line.split() for line in (await child.stdout.read()).splitlines()]
        _, events = await read(here.take_over())
        replayed = await reading
    logged = [(event.seq, type(event).__name__) for event in replayed]
    assert logged[: len(shown)] == [(int(seq), name.decode()) for seq, name in shown]
    assert [seq for seq, _ in logged] == list(range(1, len(logged) + 1))
    assert said(replayed) == said(events) == WHOLE
    assert [type(event) for event in replayed].count(RunEnd) == 1
    assert replayed[-1 - len(events) : -1] == events


async def test_of_two_processes_that_go_on_one_writes(store_url: str) -> None:
    async with scene(store_url, [Fault.stall(after_events=14)]) as here:
        async with writer(store_url, here) as child:
            assert child.stdout is not None
            for _ in range(9):
                await child.stdout.readline()
        tries = [read(here.take_over()) for _ in range(3)]
        results = await asyncio.gather(*tries, return_exceptions=True)
        won = [result for result in results if not isinstance(result, BaseException)]
        assert len(won) == 1, results
        assert said(await here.replayed()) == said(won[0][1]) == WHOLE
    assert len(here.server.requests) == 2


async def test_an_event_leaves_when_the_log_has_it() -> None:
    async with scene("memory:") as here:
        here.backend = slow = Slow()
        async with here.ask() as run:
            first = asyncio.ensure_future(anext(run))
            await slow.appending.wait()
            assert not first.done()
            slow.may_append.set()
            event = await first
            async with aclosing(here.replay()) as replayed:
                assert await anext(replayed) == event


class Slow(MemoryBackend):
    """Appends that wait until they are let through."""

    def __init__(self) -> None:
        super().__init__()
        self.appending, self.may_append = asyncio.Event(), asyncio.Event()

    async def append(self, *args: Any, **options: Any) -> int | None:
        self.appending.set()
        await self.may_append.wait()
        return await super().append(*args, **options)


async def test_a_lost_log_is_a_gap_and_the_run_goes_on(any_store_url: str) -> None:
    async with scene(any_store_url) as here, here.ask() as run:
        seen = [await anext(run) for _ in range(5)]
        async with aclosing(here.replay()) as early:
            got: list[Event] = [await anext(early) for _ in range(5)]
            await here.backend.drop(here.tenant, ("events", "r"))
            seen += [event async for event in run]
            got += [event async for event in early]
        late = await here.replayed()
        behind = await here.replayed(after=5)
    assert got == [*seen[: len(got) - 1], Gap(0, len(got) - 1, len(got) - 1, None)]
    first = late[1]
    assert late[0] == Gap(first.attempt, first.seq - 1, 0, first.seq)
    assert late[1:-1] == seen[first.seq - 1 :]
    lost = [] if first.seq == 6 else [Gap(first.attempt, first.seq - 1, 5, first.seq)]
    assert behind == [*lost, *late[1:]]
    assert isinstance(late[-1], RunEnd)


async def test_a_reader_of_a_log_that_expired_is_told() -> None:
    async with scene("memory:") as here:
        assert await here.replayed(after=7) == [Gap(0, 7, 7, None)]


class Failing(MemoryBackend):
    """A store that can be down for appends to the event log."""

    down = False

    async def append(self, tenant: str, log: tuple[str, ...], *rest: Any, **options: Any) -> int | None:
        if self.down and log[0] == "events":
            raise StoreError("down")
        return await super().append(tenant, log, *rest, **options)


async def test_what_a_store_that_was_down_did_not_take_is_a_gap() -> None:
    clock = FakeClock()
    async with scene("memory:") as here:
        here.backend = backend = Failing()
        async with here.ask(clock=clock) as run:
            seen = [await anext(run) for _ in range(4)]
            backend.down = True
            seen += [await anext(run) for _ in range(3)]
            backend.down = False
            seen += [event async for event in run]
        replayed = await here.replayed()
    gap = next(event for event in replayed if isinstance(event, Gap))
    assert said(seen) == WHOLE
    assert gap.before is not None
    assert gap.after >= 4
    kept = [event for event in replayed[:-1] if event is not gap]
    assert kept == [event for event in seen if not gap.after < event.seq < gap.before]
    assert replayed[-1].seq == seen[-1].seq + 1


async def test_or_an_error_where_it_must_not_fail() -> None:
    async with scene("memory:") as here:
        here.backend = backend = Failing()
        backend.down = True
        with pytest.raises(StoreError, match="down"):
            await read(here.ask(policy=AT_ONCE.replace(on_store_error="fail")))


async def test_a_writer_that_was_replaced_stops(any_store_url: str) -> None:
    async with scene(any_store_url) as here:
        async with here.ask(policy=AT_ONCE.replace(on_store_error="fail")) as frozen:
            await anext(frozen)
            _, events = await read(here.ask())
            with pytest.raises(StaleOwner):
                await _rest(frozen)
        replayed = await here.replayed()
    assert said(replayed) == said(events) == WHOLE


async def _rest(run: Run) -> list[Event]:
    return [event async for event in run]


async def test_a_failed_run_is_over_until_somebody_goes_on(any_store_url: str) -> None:
    never = AT_ONCE.replace(max_recoveries=0)
    async with scene(any_store_url, [Fault.reset(after_events=9)]) as here:
        with pytest.raises(StreamCutError):
            await read(here.ask(policy=never, takeover=True))
        failed = await here.replayed()
        assert isinstance(failed[-1], RunEnd)
        assert failed[-1].outcome.kind in ("failed", "truncated")
        with pytest.raises(StreamCutError):  # its budget was none, and goes on
            await read(here.take_over())
        assert [type(event) for event in await here.replayed()].count(RunEnd) == 1


async def test_an_aborted_run_is_over(any_store_url: str) -> None:
    async with scene(any_store_url) as here:
        async with here.ask() as run:
            await anext(run)
            await run.abort()
        last = (await here.replayed())[-1]
    assert isinstance(last, RunEnd)
    assert last.outcome.kind == "cancelled"


async def test_the_id_of_a_finished_run_is_used_up(any_store_url: str) -> None:
    async with scene(any_store_url) as here:
        await read(here.ask())
        with pytest.raises(ConfigurationError, match="is finished"):
            await read(here.ask())
        with pytest.raises(ConfigurationError):
            here.ask(store=InMemoryStreamCheckpointStore())


async def test_no_reader_of_another_tenant_gets_anything(any_store_url: str) -> None:
    async with scene(any_store_url) as here:
        await read(here.ask())
        here.tenant += "."
        assert await here.replayed(after=1) == [Gap(0, 1, 1, None)]
