"""A worker process that ends itself, or freezes, at a chosen write to its store.

It writes down what the store has acknowledged, so that the test can look whether all of that is still there.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from seamstream.stores.backend import Backend, Key, LogEntry, Record
from seamstream.stores.url import open_store
from seamstream.tasks import Agent, ModelTarget, Worker
from tests.tasks.dying import WRITES
from tests.tasks.service import booking_tool

LEASE_S = 2.0


@dataclass(frozen=True)
class Job:
    """What a worker process is told. Write number `at` (0: none) is its last, or its last for a while."""

    store_url: str
    model_url: str
    service_url: str
    tenant: str
    acknowledged: str
    """The file for what the store has acknowledged."""
    at: int = 0
    moment: Literal["before", "after"] = "before"
    freezes: bool = False


class MortalBackend:
    """Passes calls on one by one, counts writes, and sends this process the signal at the chosen one.

    One by one, because a process that is frozen within a transaction of SQLite locks all others out.
    """

    def __init__(self, backend: Backend, job: Job) -> None:
        self._backend = backend
        self._job = job
        self._writes = 0
        self._turn = asyncio.Lock()

    def __getattr__(self, name: str) -> Any:
        async def call(*args: Any, **options: Any) -> Any:
            async with self._turn:
                return await self._call(name, *args, **options)

        return call

    async def _call(self, name: str, *args: Any, **options: Any) -> Any:
        if name not in WRITES:
            return await getattr(self._backend, name)(*args, **options)
        if name not in ("claim", "extend"):  # how often these come depends on time
            self._writes += 1
        chosen = self._writes == self._job.at and name not in ("claim", "extend")
        if chosen and self._job.moment == "before":
            self._end()
        answer = await getattr(self._backend, name)(*args, **options)
        if name == "append" and answer is not None:
            self._note(args[1], args[2])
        if chosen and self._job.moment == "after":
            self._end()
        return answer

    def _note(self, log: Key, values: Sequence[bytes]) -> None:
        if log[0] == "ledger":
            with Path(self._job.acknowledged).open("a") as file:
                file.writelines(value.hex() + "\n" for value in values)

    def _end(self) -> None:
        os.kill(os.getpid(), signal.SIGSTOP if self._job.freezes else signal.SIGKILL)

    async def scan(self, tenant: str, prefix: Key = ()) -> AsyncIterator[tuple[Key, Record]]:
        async for found in self._backend.scan(tenant, prefix):
            yield found

    async def follow(self, tenant: str, log: Key, *, after: int = 0) -> AsyncIterator[LogEntry]:
        async for entry in self._backend.follow(tenant, log, after=after):
            yield entry


def main(job: Job) -> None:
    """Work until SIGTERM."""
    logging.disable(logging.CRITICAL)
    asyncio.run(_work(job))


async def _work(job: Job) -> None:
    async with open_store(job.store_url) as store:
        target = ModelTarget(job.model_url, {"model": "test-model"})
        mortal = MortalBackend(store, job)
        async with Agent(target, [booking_tool(job.service_url)], mortal) as agent:
            worker = Worker(agent, [job.tenant], lease_s=LEASE_S)
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, worker.stop)
            await worker.run()
