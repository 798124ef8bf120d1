"""What work on a task may rely on while its lease lasts, and how it is told to stop."""

from __future__ import annotations

from typing import Protocol

from ..errors import SeamstreamError
from .records import TaskState


class HandOver(SeamstreamError):
    """This process is to stop: another one goes on with the task."""


class Waits(Exception):
    """The task cannot go on now. `state` is `waiting` or `waiting_compensation`."""

    def __init__(self, state: TaskState, why: str) -> None:
        super().__init__(why)
        self.state: TaskState = state
        self.why = why


class Hold(Protocol):
    """What a worker promises about its lease."""

    def check_lease(self) -> None:
        """StaleOwner once the lease may be over."""
        ...

    def check_start(self) -> None:
        """HandOver when nothing new may be started; StaleOwner once the lease may be over."""
        ...
