"""A worker: takes tasks from the queue of its tenants and works on them until they are over, wait, or belong
to somebody else. Any number may run on any number of machines.

Told to stop (SIGTERM), it starts nothing new, cuts off answers that are streaming (their checkpoints stay),
lets tools that are running come to their end, and gives its jobs back: another worker goes on at once.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Final

from ..errors import ConfigurationError, StoreError
from ..stores.backend import Job, Operator
from .agent import Agent
from .lease import Lease
from .reading import QUEUE
from .records import Envelope
from .working import Working

_LOG: Final = logging.getLogger("seamstream.tasks")

LEASE_S: Final = 30.0
IDLE_S: Final = 0.5
"""How long a worker with nothing to do waits before it looks again."""


class Worker:
    """Works on tasks of some tenants. `owner` names it in the ledger. A job that nobody extends for `lease_s`
    seconds is another worker's; tools have `grace_s` seconds to end after `stop`.

    ConfigurationError for settings with which nothing could be worked on.
    """

    def __init__(
        self,
        agent: Agent,
        tenants: Sequence[str],
        *,
        owner: str | None = None,
        concurrency: int = 8,
        lease_s: float = LEASE_S,
        grace_s: float = 30.0,
    ) -> None:
        if concurrency < 1 or not lease_s > 0 or not grace_s >= 0:
            raise ConfigurationError(
                f"concurrency and lease_s must be above 0 and grace_s not below it, not {concurrency!r},"
                f" {lease_s!r} and {grace_s!r}"
            )
        self.owner = owner or agent.clock.uuid()
        self._agent = agent
        self._operator = Operator(agent.store, tenants)
        self._free = asyncio.Semaphore(concurrency)
        self._lease_s = lease_s
        self._grace_s = grace_s
        self._stopping = asyncio.Event()
        self._working: dict[asyncio.Task[Envelope | None], Working] = {}

    async def run(self) -> None:
        """Work until `stop` is called and all work has been handed over or is done."""
        while not self._stopping.is_set():
            if not await self._begin_one():
                await self._rest()
        await self._hand_over_all()

    async def drain(self) -> list[Envelope]:
        """Work on all that is due now, and return how those tasks stand."""
        ended: list[Envelope] = []
        while await self._begin_one() or self._working:
            if self._working:
                done, _ = await asyncio.wait(list(self._working), return_when=asyncio.FIRST_COMPLETED)
                ended += [envelope for task in done if (envelope := task.result()) is not None]
                await asyncio.sleep(0)  # the callbacks of what is done
        return ended

    def stop(self) -> None:
        """Begin to hand over. May be called from a signal handler of the loop."""
        self._stopping.set()
        self._free.release()  # one that waits for room need not wait any more
        for working in self._working.values():
            working.lease.stopping = True
            working.cut_stream()

    async def _begin_one(self) -> bool:
        """Claim a job and begin with it; False when none is due, or none is wanted any more."""
        await self._free.acquire()
        begun = False
        try:
            if self._stopping.is_set():
                return False
            claimed_at = self._agent.clock.monotonic()
            claimed = await self._operator.claim(QUEUE, lease_s=self._lease_s)
            if claimed is not None:
                self._start(*claimed, claimed_at)
                begun = True
        except StoreError as error:
            _LOG.warning("the store cannot be asked for work: %s", error)
        finally:
            if not begun:
                self._free.release()
        return begun

    def _start(self, tenant: str, job: Job, claimed_at: float) -> None:
        agent = self._agent
        lease = Lease(agent.store, tenant, job, agent.clock, lease_s=self._lease_s, claimed_at=claimed_at)
        lease.stopping = self._stopping.is_set()  # it may have arrived after `stop`
        working = Working(agent, tenant, job, lease, self.owner)
        task = asyncio.get_running_loop().create_task(working.run(), name="seamstream-task")
        self._working[task] = working
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[Envelope | None]) -> None:
        del self._working[task]
        self._free.release()

    async def _rest(self) -> None:
        """Wait a moment, or until `stop`."""
        resting = asyncio.ensure_future(self._agent.clock.sleep(IDLE_S))
        stopping = asyncio.ensure_future(self._stopping.wait())
        await asyncio.wait({resting, stopping}, return_when=asyncio.FIRST_COMPLETED)
        for waiting in (resting, stopping):
            waiting.cancel()

    async def _hand_over_all(self) -> None:
        working = list(self._working)
        if working:
            _, late = await asyncio.wait(working, timeout=self._grace_s)
            for task in late:
                task.cancel()
            if late:
                await asyncio.wait(late)
