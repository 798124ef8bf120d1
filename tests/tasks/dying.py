"""A store handle of a process that dies at a chosen write: before it, or after it but before it knows.

After that every call dies too, so nothing that still runs in this test's process can change anything.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Literal

from seamstream.stores.backend import Backend, Key, LogEntry, Record

WRITES = (
    "put",
    "compare_and_set",
    "delete",
    "append",
    "drop",
    "enqueue",
    "claim",
    "extend",
    "ack",
    "release",
)


class Died(BaseException):
    """The process is gone."""


class DyingBackend:
    """Passes calls on until write number `at` (from 1); `moment` says on which side of it the end lies."""

    def __init__(self, backend: Backend, at: int, moment: Literal["before", "after"]) -> None:
        self._backend = backend
        self._at = at
        self._moment = moment
        self.writes = 0
        self.dead = False

    async def _call(self, name: str, *args: Any, **options: Any) -> Any:
        self._check()
        if name not in WRITES:
            return await getattr(self._backend, name)(*args, **options)
        self.writes += 1
        dies = self.writes == self._at
        self.dead = dies and self._moment == "before"
        self._check()
        answer = await getattr(self._backend, name)(*args, **options)
        self.dead = dies
        self._check()
        return answer

    def _check(self) -> None:
        if self.dead:
            raise Died

    def __getattr__(self, name: str) -> Any:
        async def call(*args: Any, **options: Any) -> Any:
            return await self._call(name, *args, **options)

        return call

    async def scan(self, tenant: str, prefix: Key = ()) -> AsyncIterator[tuple[Key, Record]]:
        self._check()
        async for found in self._backend.scan(tenant, prefix):
            yield found

    async def follow(self, tenant: str, log: Key, *, after: int = 0) -> AsyncIterator[LogEntry]:
        self._check()
        async for entry in self._backend.follow(tenant, log, after=after):
            yield entry
