"""What every backend must do with logs; see `backend_contract`."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import Final

from ..stores.backend import Backend, Key, LogEntry
from .contract_helpers import LONG_S, SOON_S, TTL_S, Check, is_empty, large_value, new_tenant, until


async def logs_keep_their_order(one: Backend, two: Backend) -> None:
    """Entries count from 1 without gaps, whoever appends them, and can be read from anywhere."""
    tenant, log = new_tenant(), ("runs", "r", "log")
    assert await one.read(tenant, log) == []
    assert await one.append(tenant, log, [b"1", b"2"]) == 2
    assert await two.append(tenant, log, []) == 2
    clients = (one, two)
    for number in range(20):
        values = [b"%d-%d" % (number, client) for client in range(2)]
        await asyncio.gather(
            *(client.append(tenant, log, [value]) for client, value in zip(clients, values, strict=True))
        )
    entries = await two.read(tenant, log)
    assert [entry.seq for entry in entries] == list(range(1, 43))
    rounds = [{entries[at].value, entries[at + 1].value} for at in range(2, 42, 2)]
    assert rounds == [{b"%d-0" % number, b"%d-1" % number} for number in range(20)]
    assert await one.read(tenant, log, after=40) == entries[40:]
    assert await one.read(tenant, log, after=1, limit=2) == entries[1:3]
    assert await one.read(tenant, log, after=99) == []


async def appends_can_be_fenced(one: Backend, two: Backend) -> None:
    """With `after`, one of two writers who believe in the same end is refused, and nothing of his is kept."""
    tenant, log = new_tenant(), ("l",)
    assert await one.append(tenant, log, [b"a"], after=1) is None
    assert await one.append(tenant, log, [b"a"], after=0) == 1
    for number in range(1, 50):
        results = await asyncio.gather(
            one.append(tenant, log, [b"one"], after=number), two.append(tenant, log, [b"two"], after=number)
        )
        assert sorted(results, key=str) == sorted([number + 1, None], key=str)
    assert [entry.seq for entry in await one.read(tenant, log)] == list(range(1, 51))


async def large_entries_are_kept(one: Backend, two: Backend) -> None:
    """An entry may be larger than any store's message."""
    tenant, value = new_tenant(), large_value()
    assert await one.append(tenant, ("l",), [b"small", value, b""]) == 3
    assert [entry.value for entry in await two.read(tenant, ("l",))] == [b"small", value, b""]


async def logs_expire(one: Backend, two: Backend) -> None:
    """On the store's clock, as long after the latest append that said so; then it is as if dropped."""
    tenant, log, loop = new_tenant(), ("l",), asyncio.get_running_loop()
    await one.append(tenant, ("kept",), [b"x"])
    begun, length = loop.time(), 0
    while loop.time() < begun + 1.2 * TTL_S:
        length += 1
        assert await one.append(tenant, log, [b"x"], ttl_s=TTL_S) == length
        await asyncio.sleep(TTL_S / 4)
    follower = asyncio.create_task(collected(two, tenant, log))
    assert await one.append(tenant, log, [b"last"], after=length) == length + 1
    assert len(await two.read(tenant, log)) == length + 1
    await until(lambda: is_empty(two, tenant, log))
    assert len(await asyncio.wait_for(follower, LONG_S)) == length + 1
    assert await two.append(tenant, log, [b"x"], after=length + 1) is None
    assert await two.append(tenant, log, [b"new"], after=0) == 1
    assert [entry.value for entry in await one.read(tenant, log)] == [b"new"]
    assert [entry.value for entry in await one.read(tenant, ("kept",))] == [b"x"]


async def a_log_can_become_mortal(one: Backend, two: Backend) -> None:
    """An append may give a log that had none its end."""
    tenant, log = new_tenant(), ("l",)
    await one.append(tenant, log, [b"x"])
    assert await two.append(tenant, log, [b"y"], ttl_s=SOON_S) == 2
    await until(lambda: is_empty(one, tenant, log))


async def followers_get_everything_once(one: Backend, two: Backend) -> None:
    """What is there, then what comes, in order; the end of the log ends the follower."""
    tenant, log = new_tenant(), ("l",)
    await one.append(tenant, log, [b"1", b"2"])
    got: list[tuple[int, bytes]] = []

    async def follow() -> None:
        async for entry in two.follow(tenant, log, after=1):
            got.append((entry.seq, entry.value))  # noqa: PERF401 - it is read while it grows

    follower = asyncio.create_task(follow())
    for number in range(3, 13):
        await one.append(tenant, log, [str(number).encode()])
    await until(lambda: _holds(len(got) == 11))
    assert got == [(number, str(number).encode()) for number in range(2, 13)]
    await one.drop(tenant, log)
    await asyncio.wait_for(follower, LONG_S)
    assert await one.read(tenant, log) == []
    assert await one.append(tenant, log, [b"new"]) == 1


async def followers_may_come_first(one: Backend, two: Backend) -> None:
    """A log may be followed before its first entry, and a follower that leaves leaves nothing behind."""
    tenant, log = new_tenant(), ("later",)
    async with aclosing(two.follow(tenant, log)) as entries:  # type: ignore[type-var]
        first = asyncio.ensure_future(anext(entries))
        await asyncio.sleep(0)
        await one.append(tenant, log, [b"x"])
        assert (await asyncio.wait_for(first, LONG_S)).value == b"x"


async def followers_never_mix_two_logs(one: Backend, two: Backend) -> None:
    """A log that is dropped and begun again, however soon, is another one."""
    tenant, log = new_tenant(), ("l",)

    async def write() -> None:
        for number in range(40):
            values = [b"%d" % number] * (1 + number % 3)
            await one.append(tenant, log, values)
            await asyncio.sleep(0)
            await one.append(tenant, log, values)
            await asyncio.sleep(0)
            await one.drop(tenant, log)

    async def read() -> None:
        while not writer.done():
            found = await two.read(tenant, log)
            assert len({entry.value for entry in found}) <= 1, found
            follower = asyncio.create_task(collected(two, tenant, log))
            await asyncio.wait({follower, writer}, return_when=asyncio.FIRST_COMPLETED)
            while not follower.done():  # it may wait for the log after the last one
                await one.append(tenant, log, [b"end"])
                await asyncio.wait({follower}, timeout=0.1)
                await one.drop(tenant, log)
            got = await follower
            assert len({entry.value for entry in got}) <= 1, got
            assert [entry.seq for entry in got] == list(range(1, len(got) + 1))

    writer = asyncio.create_task(write())
    await read()
    await writer


async def followers_of_a_log_that_is_gone_end(one: Backend, two: Backend) -> None:
    """Who knows more entries than there are knew another log; who knows them all waits for the next."""
    tenant, log = new_tenant(), ("l",)
    assert await asyncio.wait_for(collected(two, tenant, log, after=1), LONG_S) == []
    await one.append(tenant, log, [b"1", b"2"])
    assert await asyncio.wait_for(collected(two, tenant, log, after=3), LONG_S) == []
    async with aclosing(two.follow(tenant, log, after=2)) as entries:  # type: ignore[type-var]
        third = asyncio.ensure_future(anext(entries))
        await asyncio.sleep(0)
        await one.append(tenant, log, [b"3"])
        assert (await asyncio.wait_for(third, LONG_S)).value == b"3"


LOG_CHECKS: Final[tuple[Check, ...]] = (
    logs_keep_their_order,
    appends_can_be_fenced,
    large_entries_are_kept,
    logs_expire,
    a_log_can_become_mortal,
    followers_get_everything_once,
    followers_may_come_first,
    followers_never_mix_two_logs,
    followers_of_a_log_that_is_gone_end,
)


async def collected(backend: Backend, tenant: str, log: Key, *, after: int = 0) -> list[LogEntry]:
    """All that a follower gets until its log ends."""
    return [entry async for entry in backend.follow(tenant, log, after=after)]


async def _holds(value: bool) -> bool:
    return value
