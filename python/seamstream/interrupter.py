"""Waits that a timer's callback can end, without a timer for every wait."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Generic, TypeVar

T = TypeVar("T")


class Interrupter(Generic[T]):
    """Ends the wait of one task from a timer's callback; a cancellation from outside stays one."""

    __slots__ = ("_fired", "_task")

    def __init__(self) -> None:
        self._task: asyncio.Task[object] | None = None
        self._fired = False

    async def wait(self, waiting: Awaitable[T]) -> T | None:
        """What `waiting` gives; None when `fire` came first."""
        task = asyncio.current_task()
        before = task.cancelling() if task is not None else 0
        self._task, self._fired = task, False
        try:
            return await waiting
        except asyncio.CancelledError:
            if not self._fired or task is None:
                raise
            self._fired = False
            if task.uncancel() > before:
                raise
            return None
        finally:
            self._task = None
            if self._fired and task is not None:
                task.uncancel()

    def fire(self) -> None:
        """End the wait that is going on, if one is."""
        if self._task is not None and not self._fired:
            self._fired = True
            self._task.cancel()
