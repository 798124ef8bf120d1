"""The port that durable work stands on: records with a revision, append-only logs, and a work queue.

One `Backend` is one place where data lives. Every call names its tenant, and no call reaches another's data;
`Operator` is the only handle on several. Keys are tuples of any text. Times are on the store's own clock, so
that workers with wrong clocks cannot take a lease that is not over. A failure of the store is a `StoreError`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from ..errors import ConfigurationError

Key = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Record:
    """A value and its revision: above 0, and greater after each change of the key."""

    value: bytes
    revision: int


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One entry of a log; `seq` counts from 1 without gaps."""

    seq: int
    value: bytes


@dataclass(frozen=True, slots=True)
class Job:
    """A piece of work that was claimed. `deliveries` counts claims of it; `token` proves this one."""

    id: str
    body: bytes
    deliveries: int
    token: str


class Backend(Protocol):
    """Where durable work is kept. Anybody can implement it: its contract is `seamstream.testing`'s."""

    # ---------------------------------------------------------------- records

    async def get(self, tenant: str, key: Key) -> Record | None:
        """The record; None if it was never put, was deleted or has expired."""
        ...

    async def put(self, tenant: str, key: Key, value: bytes, *, ttl_s: float | None = None) -> int:
        """Set the record whatever it was, and return its revision. Without `ttl_s` it never expires."""
        ...

    async def compare_and_set(
        self, tenant: str, key: Key, value: bytes, *, revision: int, ttl_s: float | None = None
    ) -> int | None:
        """Set the record if it still has that revision (0: if there is none), and return the new one; None
        if somebody else was first.
        """
        ...

    async def delete(self, tenant: str, key: Key, *, revision: int | None = None) -> bool:
        """Delete the record, if `revision` is given only while it has that one. Was there such a record?"""
        ...

    def scan(self, tenant: str, prefix: Key = ()) -> AsyncIterator[tuple[Key, Record]]:
        """All records whose keys begin with these segments, in the order of their text (`keys.join`)."""
        ...

    # ---------------------------------------------------------------- logs

    async def append(
        self,
        tenant: str,
        log: Key,
        values: Sequence[bytes],
        *,
        after: int | None = None,
        ttl_s: float | None = None,
    ) -> int | None:
        """Append all values or none, and return the last one's `seq`. With `after`, only if the log's last
        `seq` still is that number; None if somebody else was first.

        The whole log expires `ttl_s` after the latest append that gave one, and is then as if dropped;
        without it that time stays as it was. An append of no values changes nothing.
        """
        ...

    async def read(
        self, tenant: str, log: Key, *, after: int = 0, limit: int | None = None
    ) -> list[LogEntry]:
        """The entries with a greater `seq`, in order."""
        ...

    def follow(self, tenant: str, log: Key, *, after: int = 0) -> AsyncIterator[LogEntry]:
        """The entries with a greater `seq`, and then each new one, all of one log.

        It waits for a log that does not exist yet, and ends when the log is dropped or expires, also if a new
        one has begun since. Who gives `after` knows a log of that length: if there is none, or a shorter one,
        that log is gone, and it ends at once.
        """
        ...

    async def drop(self, tenant: str, log: Key) -> None:
        """Delete a log. What is appended after that begins a new one, at 1."""
        ...

    # ---------------------------------------------------------------- work

    async def enqueue(self, tenant: str, queue: str, body: bytes, *, delay_s: float = 0.0) -> str:
        """Add a piece of work that can be claimed after the delay, and return its id."""
        ...

    async def claim(self, tenant: str, queue: str, *, lease_s: float, wait_s: float = 0.0) -> Job | None:
        """Take the oldest piece of work that is due, for `lease_s`; wait for one for at most `wait_s`. Not
        acknowledged in time, it is delivered again.
        """
        ...

    async def extend(self, tenant: str, queue: str, job: Job, *, lease_s: float) -> bool:
        """Let the lease end `lease_s` from now. False: the claim was lost, somebody else may have the job."""
        ...

    async def ack(self, tenant: str, queue: str, job: Job) -> bool:
        """The work is done, do not deliver it again. False: the claim was lost."""
        ...

    async def release(self, tenant: str, queue: str, job: Job, *, delay_s: float = 0.0) -> bool:
        """Give the work back before the lease is over. False: the claim was lost."""
        ...

    async def aclose(self) -> None:
        """Release connections, threads and files."""
        ...


class Operator:
    """The only handle on more than one tenant: it must be told which."""

    def __init__(self, backend: Backend, tenants: Sequence[str]) -> None:
        """ConfigurationError when no tenant is named, or something that is no name."""
        named = () if isinstance(tenants, str) else tuple(dict.fromkeys(tenants))
        if not named or not all(isinstance(name, str) for name in named):
            raise ConfigurationError(f"the tenants are a sequence of names, not {tenants!r}")
        self._backend = backend
        self.tenants = named
        self._next = 0

    async def scan(self, prefix: Key = ()) -> AsyncIterator[tuple[str, Key, Record]]:
        """The records of all these tenants, one tenant after the other."""
        for tenant in self.tenants:
            async for key, record in self._backend.scan(tenant, prefix):
                yield tenant, key, record

    async def claim(self, queue: str, *, lease_s: float) -> tuple[str, Job] | None:
        """A piece of work that is due; does not wait. The tenants take turns, so none starves the others."""
        for _ in self.tenants:
            tenant = self.tenants[self._next]
            self._next = (self._next + 1) % len(self.tenants)  # before the claim: it may fail
            job = await self._backend.claim(tenant, queue, lease_s=lease_s)
            if job is not None:
                return tenant, job
        return None
