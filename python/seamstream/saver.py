"""Writes a run's checkpoints in the background: the latest one counts, and a store that is down stops no
stream.
"""

from __future__ import annotations

import asyncio

from .driver import Driver
from .errors import StoreError
from .stores.checkpoints import StreamCheckpoint, StreamCheckpointStore


class CheckpointSaver:
    """One run's way to its store. At most one call to the store is under way."""

    def __init__(self, store: StreamCheckpointStore, key: str) -> None:
        self._store = store
        self._key = key
        self._next: StreamCheckpoint | None = None
        self._forgotten = False
        self._task: asyncio.Task[None] | None = None
        self._driver: Driver | None = None
        self._error: BaseException | None = None

    def put_soon(self, driver: Driver) -> None:
        self._driver = driver
        checkpoint = driver.checkpoint()
        if checkpoint is not None and not self._forgotten:
            self._next = checkpoint
            self._work()

    def forget_soon(self) -> None:
        """The turn is safe elsewhere: delete the checkpoint, behind every write."""
        self._next, self._forgotten = None, True
        self._work()

    async def flush(self) -> None:
        """Wait for the store; a failure is raised if the policy says that a store must not fail."""
        while self._task is not None and not self._task.done():
            await asyncio.wait({self._task})
        error, self._error = self._error, None
        if error is not None and self._must_not_fail():
            raise (
                error
                if isinstance(error, StoreError)
                else StoreError(f"the checkpoint store failed: {error}")
            )

    def cancel(self) -> None:
        """The reader has left: what is not written yet is not needed any more."""
        if self._task is not None and not self._forgotten:
            self._next = None
            self._task.cancel()

    def _work(self) -> None:
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._write(), name="seamstream-checkpoint")

    async def _write(self) -> None:
        try:
            while (checkpoint := self._next) is not None:
                self._next = None
                await self._store.put(checkpoint)
        except Exception as error:
            self._failed(error)
        if self._forgotten:  # also when the last write failed: somebody would take over a committed run
            try:
                await self._store.delete(self._key)
            except Exception as error:
                self._failed(error)

    def _failed(self, error: Exception) -> None:
        self._error = error
        if self._driver is not None:
            self._driver.history.notice("store_down", f"{type(error).__name__}: {error}")

    def _must_not_fail(self) -> bool:
        return self._driver is not None and self._driver.spec.policy.on_store_error == "fail"
