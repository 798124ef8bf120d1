"""A worker's lease on one job: extended while the work goes on, and never trusted longer than it may last."""

from __future__ import annotations

from ..clock import Clock
from ..errors import StaleOwner, StoreError
from ..stores.backend import Backend, Job
from .hold import HandOver
from .reading import QUEUE


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
        self.stopping = False
        """This process wants to stop."""

    def check_lease(self) -> None:
        if self._clock.monotonic() >= self._ends_at:
            raise StaleOwner("the lease on the task may be over")

    def check_start(self) -> None:
        self.check_lease()
        if self.stopping:
            raise HandOver("this worker is to stop")

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

    async def done(self) -> bool:
        """The job needs nobody any more."""
        return await self._backend.ack(self._tenant, QUEUE, self._job)

    async def give_back(self, *, delay_s: float = 0.0) -> bool:
        """Let another worker have the job."""
        return await self._backend.release(self._tenant, QUEUE, self._job, delay_s=delay_s)
