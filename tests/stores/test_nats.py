"""What only NATS can get wrong: leases made of messages, logs found by sequence, and what stays behind."""

from __future__ import annotations

import asyncio
import random
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from seamstream.stores.backend import Job
from seamstream.stores.nats import NatsBackend
from seamstream.stores.nats_reading import CHUNKS, LIVES, LOGS, WORK
from seamstream.stores.nats_streams import CHUNK_BYTES
from tests.stores.servers import NatsServer

LEASE_S = 1.0
LONG_S = 30.0
LAST_WORDS = [
    ("release", "last", False),
    ("release", "publish", False),
    ("release", "purge", True),
    ("ack", "last", False),
    ("ack", "publish", False),
    ("extend", "last", False),
    ("extend", "publish", False),
]
"""What a worker says, before which request it falls asleep, and whether it is taken as said."""


@pytest.fixture
async def stores(nats_server: NatsServer) -> AsyncIterator[list[NatsBackend]]:
    """Three clients: a worker, who took its work over, and a third that must not get it."""
    prefix = f"test-{uuid.uuid4().hex}"
    opened = [await NatsBackend(nats_server.url, prefix=prefix).open() for _ in range(3)]
    yield opened
    for store in opened:
        await store.aclose()


async def test_a_worker_that_sleeps_past_its_lease_leaves_the_next_one_alone(
    nats_server: NatsServer, stores: list[NatsBackend], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever its last word was, and before whichever of its requests it fell asleep; all at once, because a
    lease takes a second at least.
    """
    prefix = stores[0]._streams._prefix
    workers = [await NatsBackend(nats_server.url, prefix=prefix).open() for _ in LAST_WORDS]
    try:
        await asyncio.gather(
            *(
                _sleeps_past_its_lease(monkeypatch, [worker, *stores[1:]], *case)
                for worker, case in zip(workers, LAST_WORDS, strict=True)
            )
        )
    finally:
        for worker in workers:
            await worker.aclose()


async def _sleeps_past_its_lease(
    monkeypatch: pytest.MonkeyPatch,
    stores: list[NatsBackend],
    last_word: str,
    asleep_before: str,
    taken_as_said: bool,
) -> None:
    worker, successor, third = stores
    tenant = f"asleep-{last_word}-{asleep_before}"
    await worker.enqueue(tenant, "q", b"job")
    job = await worker.claim(tenant, "q", lease_s=LEASE_S)
    assert job is not None
    taken: list[Job] = []

    async def sleep() -> None:
        again = await successor.claim(tenant, "q", lease_s=LONG_S, wait_s=LONG_S)
        assert again is not None
        taken.append(again)

    _before(monkeypatch, worker, asleep_before, sleep)
    arguments: dict[str, Any] = {"lease_s": LONG_S} if last_word == "extend" else {}
    assert await getattr(worker, last_word)(tenant, "q", job, **arguments) is taken_as_said, tenant
    assert await third.claim(tenant, "q", lease_s=LONG_S) is None, tenant
    assert await successor.ack(tenant, "q", taken[0]), tenant


async def test_a_claim_that_came_too_late_leaves_the_winner_alone(
    stores: list[NatsBackend], monkeypatch: pytest.MonkeyPatch
) -> None:
    late, winner, third = stores
    await late.enqueue("late", "q", b"job")
    won: list[Job | None] = []

    async def sleep() -> None:
        won.append(await winner.claim("late", "q", lease_s=LONG_S, wait_s=LONG_S))

    _before(monkeypatch, late, "publish_payload", sleep, that_one=lambda args: ".work." in args[0])
    assert await late.claim("late", "q", lease_s=LEASE_S) is None
    assert won[0] is not None
    assert await third.claim("late", "q", lease_s=LONG_S) is None
    assert await winner.ack("late", "q", won[0])


async def test_a_log_is_read_from_where_it_is_asked(stores: list[NatsBackend]) -> None:
    """Of 5,000 entries in messages of one to four, among those of other logs."""
    store, dice = stores[0], random.Random(7)
    expected, other = list[bytes](), 0
    while len(expected) < 5_000:
        values = [b"%d" % (len(expected) + number) for number in range(dice.randint(1, 4))]
        await store.append("long", ("l",), values)
        expected += values
        if len(expected) < 2_000 and dice.random() < 0.5:
            other += 1
            await store.append("long", ("other", str(other % 7)), [b"x"])
    asked = _count_requests(store)
    for after in [0, 1, len(expected) - 1, *(dice.randrange(len(expected)) for _ in range(50))]:
        asked.clear()
        found = await store.read("long", ("l",), after=after, limit=20)
        assert [entry.value for entry in found] == expected[after : after + 20]
        assert found[0].seq == after + 1
        assert len(asked) <= 20, (after, asked)
    asked.clear()
    assert [entry.value for entry in await store.read("long", ("l",))] == expected
    assert len(asked) <= 3 + len(expected) // 256


async def test_followers_read_each_entry_once(stores: list[NatsBackend]) -> None:
    store = stores[0]
    for number in range(600):
        await store.append("followed", ("l",), [b"%d" % number])
    asked, seen = _count_requests(store), 0
    async for entry in store.follow("followed", ("l",), after=100):
        seen += 1
        assert entry.seq == 100 + seen
        if seen == 500:
            break
    assert len(asked) <= 20, asked


async def test_expired_logs_are_cleared_away_by_those_that_begin(stores: list[NatsBackend]) -> None:
    store = stores[0]
    for number in range(40):
        await store.append("swept", ("old", str(number)), [b"x", bytes(CHUNK_BYTES)], ttl_s=1.0)
    old, chunks = store._streams.subject(LOGS, "swept", "old", "*"), store._streams.subject(CHUNKS, ">")
    assert len(await store._streams.subjects(LOGS, old)) == 40
    number = 0
    async with asyncio.timeout(LONG_S):
        while await store._streams.subjects(LOGS, old):
            number += 1
            await store.append("swept", ("new", str(number)), [b"x"], ttl_s=1.0)
            await asyncio.sleep(0.05)
    assert await store._streams.subjects(CHUNKS, chunks) == []


async def test_large_values_leave_no_chunks_behind(stores: list[NatsBackend]) -> None:
    store, large = stores[0], bytes(3 * CHUNK_BYTES)
    for _ in range(2):
        await store.put("chunks", ("k",), large)
    await store.delete("chunks", ("k",))
    await store.append("chunks", ("l",), [large])
    await store.append("chunks", ("l",), [b"x", large])
    await store.drop("chunks", ("l",))
    await store.enqueue("chunks", "q", large)
    job = await store.claim("chunks", "q", lease_s=LONG_S)
    assert job is not None
    assert job.body == large
    assert await store.ack("chunks", "q", job)
    for kind in (CHUNKS, WORK, LOGS, LIVES):
        pattern = store._streams.subject(kind, *([] if kind == CHUNKS else ["chunks"]), ">")
        assert await store._streams.subjects(kind, pattern) == []


def _count_requests(store: NatsBackend) -> list[str]:
    """Every request from now on, by name."""
    asked: list[str] = []
    for name in ("_get", "batch"):
        method = getattr(store._streams, name)

        async def counted(*args: Any, _name: str = name, _method: Any = method, **options: Any) -> Any:
            asked.append(_name)
            return await _method(*args, **options)

        setattr(store._streams, name, counted)
    return asked


def _before(
    monkeypatch: pytest.MonkeyPatch,
    store: NatsBackend,
    request: str,
    sleep: Callable[[], Awaitable[None]],
    that_one: Callable[[tuple[Any, ...]], bool] = lambda _: True,
) -> None:
    """Freeze a client once, just before such a request."""
    ask, slept = getattr(store._streams, request), False

    async def asked(*args: Any, **options: Any) -> Any:
        nonlocal slept
        if not slept and that_one(args):
            slept = True
            await sleep()
        return await ask(*args, **options)

    monkeypatch.setattr(store._streams, request, asked)
