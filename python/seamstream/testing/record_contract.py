"""What every backend must do with records; see `backend_contract`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Final

from ..clock import SystemClock
from ..errors import StoreLimitError
from ..stores.backend import Backend, Operator
from .contract_helpers import LONG_S, RACES, Check, is_gone, large_value, new_tenant, until

AWKWARD: Final = ("a", "a.b", "a*", "a>", "a_", "a%", "a/b", "ü@x y", "A", "a b", "a=", "")
"""Names that are wildcards, separators or patterns somewhere."""


async def records_have_revisions(one: Backend, two: Backend) -> None:
    """What one client puts the other gets; each change raises the revision; a deleted key is none."""
    tenant, key = new_tenant(), ("runs", "r1")
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
    tenant, key, last = new_tenant(), ("k",), 0
    for _ in range(100):
        revisions = await asyncio.gather(one.put(tenant, key, b"1"), two.put(tenant, key, b"2"))
        found = await one.get(tenant, key)
        assert found is not None
        assert found.revision == max(revisions)
        assert min(revisions) > last
        last = found.revision


async def any_bytes_are_kept(one: Backend, two: Backend) -> None:
    """Empty values, all byte values, and values far above any store's message size."""
    tenant = new_tenant()
    for value in (b"", bytes(range(256)), large_value()):
        await one.put(tenant, ("v",), value)
        found = await two.get(tenant, ("v",))
        assert found is not None
        assert found.value == value


async def long_keys_are_kept_or_refused(one: Backend, two: Backend) -> None:
    """A key of 500 characters is kept. A much longer one may be too long; that is a StoreLimitError, and the
    store goes on.
    """
    tenant = new_tenant()
    for key in (("k" * 500,), ("a", "b" * 498)):
        await one.put(tenant, key, b"x")
        await one.append(tenant, key, [b"x"])
        assert await two.get(tenant, key) is not None
        assert len(await two.read(tenant, key)) == 1
    huge = "".join(f"{number}," for number in range(20_000))
    if await _is_taken(one.put(tenant, (huge,), b"x")):
        assert await two.get(tenant, (huge,)) is not None
    if await _is_taken(one.append(tenant, (huge,), [b"x"])):
        assert len(await two.read(tenant, (huge,))) == 1
    assert await one.put(tenant, ("k",), b"x")


async def compare_and_set_compares(one: Backend, two: Backend) -> None:
    """Revision 0 means that there is none; another than the current one changes nothing."""
    tenant, key = new_tenant(), ("k",)
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
    tenant, key = new_tenant(), ("race",)
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
    tenant = new_tenant()
    await one.put(tenant, ("gone",), b"x", ttl_s=1.0)
    await one.put(tenant, ("kept",), b"x", ttl_s=1.0)
    await one.put(tenant, ("kept",), b"y")
    assert await two.get(tenant, ("gone",)) is not None
    await until(lambda: is_gone(two, tenant, ("gone",)))
    assert await two.get(tenant, ("kept",)) is not None
    assert [key async for key, _ in two.scan(tenant)] == [("kept",)]
    assert await two.compare_and_set(tenant, ("gone",), b"new", revision=0)


async def scans_find_whole_segments(one: Backend, two: Backend) -> None:
    """A prefix is one of segments, not of characters, and nothing in it is a pattern."""
    tenant = new_tenant()
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


RECORD_CHECKS: Final[tuple[Check, ...]] = (
    records_have_revisions,
    racing_puts_raise_the_revision,
    any_bytes_are_kept,
    long_keys_are_kept_or_refused,
    compare_and_set_compares,
    compare_and_set_has_one_winner,
    records_expire,
    scans_find_whole_segments,
    tenants_stay_apart,
)


async def _is_taken(call: Awaitable[object]) -> bool:
    """Was it not refused for a limit?"""
    try:
        await call
    except StoreLimitError:
        return False
    return True
