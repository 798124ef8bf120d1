"""One job that a worker has claimed, from taking its task to giving the job its end.

Three things run side by side: the work, its lease, and the wish to cancel it. The first to end ends all.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import Final

import orjson
from aiohttp import ClientError

from ..errors import SeamstreamError, StaleOwner, StoreError
from ..stores.backend import Job
from .agent import Agent, cancel_key
from .creating import MAX_MISSING, MISSING_REST_S
from .hold import HandOver
from .journal import TaskJournal
from .lease import Lease
from .reading import is_closed, task_key
from .records import WAITING, Envelope
from .work import TaskWork

_LOG: Final = logging.getLogger("seamstream.tasks")

RETRY_S: Final = 5.0
"""How long a job rests whose work was ended by an error of the store."""
CANCEL_POLL_S: Final = 1.0
CANCEL_AGAIN_S: Final = 0.5


class Working:
    """One job that a worker has claimed."""

    def __init__(self, agent: Agent, tenant: str, job: Job, lease: Lease, owner: str) -> None:
        self.lease = lease
        self._agent = agent
        self._tenant = tenant
        self._job = job
        self._owner = owner
        self._task_id = _task_id(job)
        self._work: TaskWork | None = None
        self._running: asyncio.Task[Envelope] | None = None

    def cut_stream(self) -> None:
        """End a request to the model; its checkpoint stays."""
        if self._work is not None and self._work.streaming and self._running is not None:
            self._running.cancel()

    async def run(self) -> Envelope | None:
        """Work, and give the job its end. None: somebody else has the task, or will have it."""
        try:
            return await self._run()
        except StaleOwner as error:
            _LOG.info("task %s: %s", self._task_id, error)
        except HandOver:
            await self._leave(0.0)
        except asyncio.CancelledError:
            await self._leave(0.0)
            raise
        except (SeamstreamError, ClientError) as error:
            _LOG.warning("work on task %s ended: %s: %s", self._task_id, type(error).__name__, error)
            await self._leave(RETRY_S)
        except Exception:  # of the user's own code: the job must not wait for its lease, nor the worker end
            _LOG.exception("work on task %s ended", self._task_id)
            await self._leave(RETRY_S)
        return None

    async def _run(self) -> Envelope | None:
        agent, tenant = self._agent, self._tenant
        if not self._task_id:
            _LOG.error("a job of tenant %s names no task, it is dropped", tenant)
            await self.lease.done()
            return None
        if await agent.store.get(tenant, task_key(self._task_id)) is None:
            await self._missing()
            return None
        if await is_closed(agent.store, tenant, self._task_id):
            await self.lease.done()
            return await agent.envelope(tenant, self._task_id)
        if not await self.lease.enter(self._task_id):
            await self.lease.give_back(delay_s=RETRY_S)
            return None
        journal = await TaskJournal.take(
            *(agent.store, tenant, self._task_id), owner=self._owner, clock=agent.clock
        )
        self._work = TaskWork(agent, journal, tenant, self.lease)
        envelope = await self._until_over(self._work)
        if envelope.state in WAITING and await self._cancelled():
            envelope = await self._work.abort()
        await self.lease.done()
        return envelope

    async def _until_over(self, work: TaskWork) -> Envelope:
        """Run the work beside its lease and the wish to cancel it; whichever ends first ends the others."""
        cancelled = await self._cancelled()
        running = self._running = asyncio.ensure_future(work.abort() if cancelled else work.run())
        keeping = asyncio.ensure_future(self.lease.keep())
        cancelling = asyncio.ensure_future(asyncio.Event().wait() if cancelled else self._wait_for_cancel())
        beside = (keeping, cancelling)
        try:
            await asyncio.wait({running, *beside}, return_when=asyncio.FIRST_COMPLETED)
            if running.done() and not running.cancelled():
                return running.result()
            if not running.done():
                await _ended(running)
            if keeping.done():
                keeping.result()  # raises: the lease is lost
            if cancelling.done():
                return await work.abort()
            raise HandOver("the answer was cut off")
        finally:
            await _ended(running, *beside)

    async def _wait_for_cancel(self) -> None:
        while not await self._cancelled():
            await self._agent.clock.sleep(CANCEL_POLL_S)

    async def _cancelled(self) -> bool:
        with contextlib.suppress(StoreError):
            return await self._agent.store.get(self._tenant, cancel_key(self._task_id)) is not None
        return False

    async def _missing(self) -> None:
        """The job of a task that is only being created; or whose creation failed."""
        if self._job.deliveries >= MAX_MISSING:
            await self.lease.done()
        else:
            await self.lease.give_back(delay_s=MISSING_REST_S)

    async def _leave(self, delay_s: float) -> None:
        """Give the job back as well as the store allows; otherwise its lease runs out."""
        with contextlib.suppress(SeamstreamError):
            if self._work is not None:
                await self._work.hand_over()
        with contextlib.suppress(SeamstreamError):
            await self.lease.give_back(delay_s=delay_s)


def _task_id(job: Job) -> str:
    """The task that a job is about; empty when it names none."""
    try:
        named = orjson.loads(job.body)
    except orjson.JSONDecodeError:
        return ""
    return named if isinstance(named, str) else ""


async def _ended(*tasks: asyncio.Task[object]) -> None:
    """Cancel tasks and wait for their end. Some drivers swallow a cancellation that comes together with an
    answer or a time limit of theirs, so it is repeated.
    """
    while pending := [task for task in tasks if not task.done()]:
        for task in pending:
            task.cancel()
        await asyncio.wait(pending, timeout=CANCEL_AGAIN_S)
    await asyncio.gather(*tasks, return_exceptions=True)
