"""A run as a plain generator of effects: open, read, and after every cut decide, wait and open again. No I/O.

Whoever performs the effects gives each chunk to `intake.receive`, past the generator, and sends the generator
a result only when something needs its attention. So a healthy chunk costs one call into the core, and every
surface (in-place tap, pump, typed stream, synchronous tests) runs the same code.
"""

from __future__ import annotations

from ..stores.checkpoints import StreamCheckpoint
from .attempting import attempt
from .checkpointing import make_checkpoint
from .parts import Parts, Steps
from .recovering import recover
from .requests import Request
from .spec import RunSpec, Services
from .taking_over import take_over


class Driver(Parts):
    """One run. `steps()` is its generator; `intake` takes chunks; `turn` is there when it is over.

    With a `checkpoint` it goes on where another process stopped.
    """

    def __init__(self, spec: RunSpec, services: Services, checkpoint: StreamCheckpoint | None = None) -> None:
        super().__init__(spec, services)
        self._checkpoint = checkpoint

    def steps(self) -> Steps:
        """Run. Closing the generator ends the run as cancelled."""
        request: Request | None = self.decider.asking.first_request(self.clock.monotonic())
        self.targets.open(self.clock.monotonic())
        try:
            if self._checkpoint is not None and self._checkpoint.attempts:
                setback = yield from take_over(self, self._checkpoint)
                request = yield from recover(self, setback, Request(self._checkpoint.attempt))
            while request is not None:
                failed = yield from attempt(self, request)
                request = None if failed is None else (yield from recover(self, failed, request))
        finally:
            self.targets.attempt_over()
            self.targets.close()
            self.record_leaving()

    def checkpoint(self) -> StreamCheckpoint | None:
        """What to store about the run now."""
        return make_checkpoint(self)
