"""What every store backend must do, as checks that anybody can run on one of their own.

    @pytest.mark.parametrize("check", BACKEND_CONTRACT, ids=lambda check: check.__name__)
    async def test_backend(check):
        async with open_store(URL) as first, open_store(URL) as second:
            await check(first, second)

Both handles must lead to the same data, best as two clients with connections of their own: half of the checks
are races. Each check uses tenants of its own and leaves its data there. A broken rule is an AssertionError.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from typing import Final

from ..clock import SystemClock
from ..stores.backend import Backend, LogEntry, Operator

Check = Callable[[Backend, Backend], Awaitable[None]]

AWKWARD: Final = ("a", "a.b", "a*", "a>", "a_", "a%", "a/b", "ü@x y", "A", "a b", "a=", "")
"""Names that are wildcards, separators or patterns somewhere."""
LARGE_BYTES: Final = 3_000_000
RACES: Final = 1_000
SOON_S: Final = 0.3
TTL_S: Final = 1.0
LONG_S: Final = 30.0


def _tenant() -> str:
    return f"contract-{SystemClock().uuid()}"


async def records_have_revisions(one: Backend, two: Backend) -> None:
    """What one client puts the other gets; each change raises the revision; a deleted key is none."""
    tenant, key = _tenant(), ("runs", "r1")
    assert await one.get(tenant, key) is None
    first = await one.put(tenant, key, b"a")
    second = await two.put(tenant, key, b"b")
    assert 0 < first < second
    found = await one.get(tenant, key)
    assert found is not None
    assert (found.value, found.revision) == (b"b", second)
    assert await one.delete(tenant, key)
    assert not await two.delete(tenant, key)
    assert await two.get(tenant, key) is None


async def racing_puts_raise_the_revision(one: Backend, two: Backend) -> None:
    """Whoever is last has the greatest revision, and it is the one that is stored."""
    tenant, key, last = _tenant(), ("k",), 0
    for _ in range(100):
        revisions = await asyncio.gather(one.put(tenant, key, b"1"), two.put(tenant, key, b"2"))
        found = await one.get(tenant, key)
        assert found is not None
        assert found.revision == max(revisions)
        assert min(revisions) > last
        last = found.revision


async def any_bytes_are_kept(one: Backend, two: Backend) -> None:
    """Empty values, all byte values, and values far above any store's message size."""
    tenant = _tenant()
    for value in (b"", bytes(range(256)), bytes(range(251)) * (LARGE_BYTES // 251)):
        await one.put(tenant, ("v",), value)
        found = await two.get(tenant, ("v",))
        assert found is not None
        assert found.value == value


async def compare_and_set_compares(one: Backend, two: Backend) -> None:
    """Revision 0 means that there is none; another than the current one changes nothing."""
    tenant, key = _tenant(), ("k",)
    revision = await one.compare_and_set(tenant, key, b"1", revision=0)
    assert revision
    assert await two.compare_and_set(tenant, key, b"x", revision=0) is None
    assert await two.compare_and_set(tenant, key, b"x", revision=revision + 1) is None
    later = await two.compare_and_set(tenant, key, b"2", revision=revision)
    assert later is not None
    assert later > revision
    assert not await one.delete(tenant, key, revision=revision)
    assert await one.delete(tenant, key, revision=later)
    again = await one.compare_and_set(tenant, key, b"3", revision=0)
    assert again


async def compare_and_set_has_one_winner(one: Backend, two: Backend) -> None:
    """Two clients race for the same revision, a thousand times."""
    tenant, key = _tenant(), ("race",)
    revision = await one.put(tenant, key, b"0")
    for number in range(RACES):
        value = str(number).encode()
        results = await asyncio.gather(
            one.compare_and_set(tenant, key, b"one " + value, revision=revision),
            two.compare_and_set(tenant, key, b"two " + value, revision=revision),
        )
        won = [result for result in results if result is not None]
        assert len(won) == 1, (number, results)
        revision = won[0]
        found = await one.get(tenant, key)
        assert found is not None
        winner = b"one " if results[0] is not None else b"two "
        assert (found.value, found.revision) == (winner + value, revision)


async def records_expire(one: Backend, two: Backend) -> None:
    """On the store's clock: a record with a time to live goes, one that was put again without it stays."""
    tenant = _tenant()
    await one.put(tenant, ("gone",), b"x", ttl_s=1.0)
    await one.put(tenant, ("kept",), b"x", ttl_s=1.0)
    await one.put(tenant, ("kept",), b"y")
    assert await two.get(tenant, ("gone",)) is not None
    await _until(lambda: _is_gone(two, tenant, ("gone",)))
    assert await two.get(tenant, ("kept",)) is not None
    assert [key async for key, _ in two.scan(tenant)] == [("kept",)]
    assert await two.compare_and_set(tenant, ("gone",), b"new", revision=0)


async def scans_find_whole_segments(one: Backend, two: Backend) -> None:
    """A prefix is one of segments, not of characters, and nothing in it is a pattern."""
    tenant = _tenant()
    keys = {(name, tail) for name in AWKWARD for tail in ("x", "y.z")} | {("a", "b", "c")}
    for key in sorted(keys):
        await one.put(tenant, key, repr(key).encode())
    found = {key: record.value async for key, record in two.scan(tenant)}
    assert found == {key: repr(key).encode() for key in keys}
    for name in AWKWARD:
        under = {key async for key, _ in two.scan(tenant, (name,))}
        assert under == {key for key in keys if key[0] == name}, name
    assert [key async for key, _ in two.scan(tenant, ("nobody",))] == []


async def tenants_stay_apart(one: Backend, two: Backend) -> None:
    """No name of a tenant reaches the data of another, in records, logs or queues."""
    base = SystemClock().uuid()
    tenants = [f"{name}{base}" for name in AWKWARD] + [f"{base}{name}" for name in AWKWARD if name]
    for tenant in tenants:
        await one.put(tenant, ("k",), tenant.encode())
        await one.append(tenant, ("log",), [tenant.encode()])
        await one.enqueue(tenant, "q", tenant.encode())
    for tenant in tenants:
        record = await two.get(tenant, ("k",))
        assert record is not None
        assert record.value == tenant.encode()
        assert [key async for key, _ in two.scan(tenant)] == [("k",)]
        assert [entry.value for entry in await two.read(tenant, ("log",))] == [tenant.encode()]
        job = await two.claim(tenant, "q", lease_s=LONG_S)
        assert job is not None
        assert job.body == tenant.encode()
        assert await two.claim(tenant, "q", lease_s=LONG_S) is None
    two_tenants = Operator(two, tenants[:2])
    assert [tenant async for tenant, _, _ in two_tenants.scan()] == tenants[:2]


async def logs_keep_their_order(one: Backend, two: Backend) -> None:
    """Entries count from 1 without gaps, whoever appends them, and can be read from anywhere."""
    tenant, log = _tenant(), ("runs", "r", "log")
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
    tenant, log = _tenant(), ("l",)
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
    tenant, value = _tenant(), bytes(range(251)) * (LARGE_BYTES // 251)
    assert await one.append(tenant, ("l",), [b"small", value, b""]) == 3
    assert [entry.value for entry in await two.read(tenant, ("l",))] == [b"small", value, b""]


async def followers_get_everything_once(one: Backend, two: Backend) -> None:
    """What is there, then what comes, in order; the end of the log ends the follower."""
    tenant, log = _tenant(), ("l",)
    await one.append(tenant, log, [b"1", b"2"])
    got: list[tuple[int, bytes]] = []

    async def follow() -> None:
        async for entry in two.follow(tenant, log, after=1):
            got.append((entry.seq, entry.value))  # noqa: PERF401 - it is read while it grows

    follower = asyncio.create_task(follow())
    for number in range(3, 13):
        await one.append(tenant, log, [str(number).encode()])
    await _until(lambda: _holds(len(got) == 11))
    assert got == [(number, str(number).encode()) for number in range(2, 13)]
    await one.drop(tenant, log)
    await asyncio.wait_for(follower, LONG_S)
    assert await one.read(tenant, log) == []
    assert await one.append(tenant, log, [b"new"]) == 1


async def followers_may_come_first(one: Backend, two: Backend) -> None:
    """A log may be followed before its first entry, and a follower that leaves leaves nothing behind."""
    tenant, log = _tenant(), ("later",)
    async with aclosing(two.follow(tenant, log)) as entries:  # type: ignore[type-var]
        first = asyncio.ensure_future(anext(entries))
        await asyncio.sleep(0)
        await one.append(tenant, log, [b"x"])
        assert (await asyncio.wait_for(first, LONG_S)).value == b"x"


async def logs_expire(one: Backend, two: Backend) -> None:
    """On the store's clock, as long after the latest append that said so; then it is as if dropped."""
    tenant, log, loop = _tenant(), ("l",), asyncio.get_running_loop()
    await one.append(tenant, ("kept",), [b"x"])
    begun, length = loop.time(), 0
    while loop.time() < begun + 2 * TTL_S:
        length += 1
        assert await one.append(tenant, log, [b"x"], ttl_s=TTL_S) == length
        await asyncio.sleep(TTL_S / 4)
    follower = asyncio.create_task(_collected(two, tenant, log))
    assert await one.append(tenant, log, [b"last"], after=length) == length + 1
    assert len(await two.read(tenant, log)) == length + 1
    await _until(lambda: _is_empty(two, tenant, log))
    assert len(await asyncio.wait_for(follower, LONG_S)) == length + 1
    assert await two.append(tenant, log, [b"x"], after=length + 1) is None
    assert await two.append(tenant, log, [b"new"], after=0) == 1
    assert [entry.value for entry in await one.read(tenant, log)] == [b"new"]
    assert [entry.value for entry in await one.read(tenant, ("kept",))] == [b"x"]


async def a_log_can_become_mortal(one: Backend, two: Backend) -> None:
    """An append may give a log that had none its end."""
    tenant, log = _tenant(), ("l",)
    await one.append(tenant, log, [b"x"])
    assert await two.append(tenant, log, [b"y"], ttl_s=SOON_S) == 2
    await _until(lambda: _is_empty(one, tenant, log))


async def followers_never_mix_two_logs(one: Backend, two: Backend) -> None:
    """A log that is dropped and begun again, however soon, is another one."""
    tenant, log = _tenant(), ("l",)

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
            follower = asyncio.create_task(_collected(two, tenant, log))
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
    tenant, log = _tenant(), ("l",)
    assert await asyncio.wait_for(_collected(two, tenant, log, after=1), LONG_S) == []
    await one.append(tenant, log, [b"1", b"2"])
    assert await asyncio.wait_for(_collected(two, tenant, log, after=3), LONG_S) == []
    async with aclosing(two.follow(tenant, log, after=2)) as entries:  # type: ignore[type-var]
        third = asyncio.ensure_future(anext(entries))
        await asyncio.sleep(0)
        await one.append(tenant, log, [b"3"])
        assert (await asyncio.wait_for(third, LONG_S)).value == b"3"


async def work_is_claimed_once(one: Backend, two: Backend) -> None:
    """In the order in which it came, by one client each, and never again once it is acknowledged."""
    tenant, claimed = _tenant(), list[bytes]()
    for number in range(40):
        await one.enqueue(tenant, "q", str(number).encode())

    async def work(client: Backend) -> None:
        while (job := await client.claim(tenant, "q", lease_s=LONG_S)) is not None:
            claimed.append(job.body)
            assert job.deliveries == 1
            assert await client.ack(tenant, "q", job)
            assert not await client.ack(tenant, "q", job)

    await asyncio.gather(work(one), work(two))
    assert sorted(claimed, key=int) == [str(number).encode() for number in range(40)]
    assert await one.claim(tenant, "other", lease_s=LONG_S) is None


async def lost_leases_are_delivered_again(one: Backend, two: Backend) -> None:
    """On the store's clock; whoever lost the claim can do nothing with it any more."""
    tenant = _tenant()
    await one.enqueue(tenant, "q", b"job")
    lost = await one.claim(tenant, "q", lease_s=SOON_S)
    assert lost is not None
    again = await two.claim(tenant, "q", lease_s=LONG_S, wait_s=LONG_S)
    assert again is not None
    assert (again.body, again.id, again.deliveries) == (b"job", lost.id, 2)
    assert not await one.extend(tenant, "q", lost, lease_s=LONG_S)
    assert not await one.ack(tenant, "q", lost)
    assert not await one.release(tenant, "q", lost)
    assert await two.ack(tenant, "q", again)


async def leases_can_be_extended(one: Backend, two: Backend) -> None:
    """As long as its owner extends it, nobody else gets the job."""
    tenant = _tenant()
    await one.enqueue(tenant, "q", b"job")
    job = await one.claim(tenant, "q", lease_s=1.0)
    assert job is not None
    waiting = asyncio.create_task(two.claim(tenant, "q", lease_s=LONG_S, wait_s=1.6))
    while not waiting.done():
        assert await one.extend(tenant, "q", job, lease_s=1.0)
        await asyncio.wait({waiting}, timeout=0.25)
    assert waiting.result() is None
    assert await one.ack(tenant, "q", job)


async def work_can_be_released(one: Backend, two: Backend) -> None:
    """Given back, it can be claimed at once or after the delay; new work may have one too."""
    tenant = _tenant()
    await one.enqueue(tenant, "q", b"job")
    job = await one.claim(tenant, "q", lease_s=LONG_S)
    assert job is not None
    assert await one.release(tenant, "q", job)
    job = await two.claim(tenant, "q", lease_s=LONG_S, wait_s=LONG_S)
    assert job is not None
    assert await two.release(tenant, "q", job, delay_s=SOON_S)
    assert await one.claim(tenant, "q", lease_s=LONG_S) is None
    job = await one.claim(tenant, "q", lease_s=LONG_S, wait_s=LONG_S)
    assert job is not None
    assert await one.ack(tenant, "q", job)
    await one.enqueue(tenant, "q", b"later", delay_s=SOON_S)
    assert await two.claim(tenant, "q", lease_s=LONG_S) is None
    assert await two.claim(tenant, "q", lease_s=LONG_S, wait_s=LONG_S) is not None


async def waiting_workers_are_woken(one: Backend, two: Backend) -> None:
    """A worker that waits gets work soon after it was added, by whichever client."""
    tenant = _tenant()
    waiting = asyncio.create_task(two.claim(tenant, "q", lease_s=LONG_S, wait_s=LONG_S))
    await asyncio.sleep(0)
    await one.enqueue(tenant, "q", b"job")
    job = await asyncio.wait_for(waiting, LONG_S / 2)
    assert job is not None
    assert job.body == b"job"


BACKEND_CONTRACT: Final[tuple[Check, ...]] = (
    records_have_revisions,
    racing_puts_raise_the_revision,
    any_bytes_are_kept,
    compare_and_set_compares,
    compare_and_set_has_one_winner,
    records_expire,
    scans_find_whole_segments,
    tenants_stay_apart,
    logs_keep_their_order,
    appends_can_be_fenced,
    large_entries_are_kept,
    followers_get_everything_once,
    followers_may_come_first,
    logs_expire,
    a_log_can_become_mortal,
    followers_never_mix_two_logs,
    followers_of_a_log_that_is_gone_end,
    work_is_claimed_once,
    lost_leases_are_delivered_again,
    leases_can_be_extended,
    work_can_be_released,
    waiting_workers_are_woken,
)


async def _until(holds: Callable[[], Awaitable[bool]]) -> None:
    """Look again until it holds: the store's clock is not ours to move."""
    async with asyncio.timeout(LONG_S):
        while not await holds():  # noqa: ASYNC110
            await asyncio.sleep(0.02)


async def _is_gone(backend: Backend, tenant: str, key: tuple[str, ...]) -> bool:
    return await backend.get(tenant, key) is None


async def _is_empty(backend: Backend, tenant: str, log: tuple[str, ...]) -> bool:
    return await backend.read(tenant, log) == []


async def _collected(
    backend: Backend, tenant: str, log: tuple[str, ...], *, after: int = 0
) -> list[LogEntry]:
    """All that a follower gets until its log ends."""
    return [entry async for entry in backend.follow(tenant, log, after=after)]


async def _holds(value: bool) -> bool:
    return value
