"""A worker's lease on one job: extended while the work goes on, and never trusted longer than it may last."""

from __future__ import annotations

import contextlib

from ..clock import Clock
from ..errors import StaleOwner, StoreError
from ..stores.backend import Backend, Job, Key
from .hold import HandOver
from .reading import QUEUE, worked_key


class Lease:
    """The `Hold` of one piece of work. Its end is reckoned from before each call that extends it, on this
    machine's own monotonic clock, so it never seems longer here than it is in the store.
    """

    def __init__(
        self, backend: Backend, tenant: str, job: Job, clock: Clock, *, lease_s: float, claimed_at: float
    ) -> None:
        self._backend = backend
        self._tenant = tenant
        self._job = job
        self._clock = clock
        self._lease_s = lease_s
        self._ends_at = claimed_at + lease_s
        self._worked: Key | None = None
        self._revision = 0
        self.stopping = False
        """This process wants to stop."""

    def check_lease(self) -> None:
        if self._clock.monotonic() >= self._ends_at:
            raise StaleOwner("the lease on the task may be over")

    def check_start(self) -> None:
        self.check_lease()
        if self.stopping:
            raise HandOver("this worker is to stop")

    async def enter(self, task_id: str) -> bool:
        """Say by which job the task is worked on, for as long as the lease lasts. False when it is another
        one: a task that got two jobs must not change its owner to and fro. Nothing else rests on this record.
        StaleOwner once the lease may be over.
        """
        key = worked_key(task_id)
        found = await self._backend.get(self._tenant, key)
        if found is not None and found.value != self._name:
            return False
        revision = 0 if found is None else found.revision
        entered = await self._backend.compare_and_set(
            self._tenant, key, self._name, revision=revision, ttl_s=self._lease_s
        )
        if entered is not None:
            self._worked, self._revision = key, entered
        self.check_lease()
        return entered is not None

    @property
    def _name(self) -> bytes:
        return self._job.id.encode()

    async def keep(self) -> None:
        """Extend the lease until it is lost; then StaleOwner. A store that fails is asked again."""
        while True:
            await self._clock.sleep(self._lease_s / 3)
            asked_at = self._clock.monotonic()
            try:
                kept = await self._backend.extend(self._tenant, QUEUE, self._job, lease_s=self._lease_s)
            except StoreError:
                self.check_lease()
                continue
            if not kept:
                raise StaleOwner("the lease on the task was lost")
            self._ends_at = asked_at + self._lease_s
            await self._stay()

    async def _stay(self) -> None:
        if self._worked is not None:
            with contextlib.suppress(StoreError):
                self._revision = await self._backend.put(
                    self._tenant, self._worked, self._name, ttl_s=self._lease_s
                )

    async def done(self) -> bool:
        """The job needs nobody any more; the task may get another one."""
        if self._worked is not None:
            await self._backend.delete(self._tenant, self._worked, revision=self._revision)
            self._worked = None
        return await self._backend.ack(self._tenant, QUEUE, self._job)

    async def give_back(self, *, delay_s: float = 0.0) -> bool:
        """Let another worker have the job."""
        return await self._backend.release(self._tenant, QUEUE, self._job, delay_s=delay_s)
