"""A run's way to its checkpoint store: written in the background, and the latest state counts. A store that
is down, or never answers, stops no stream unless the policy says so.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import replace
from typing import Any, TypeVar

from .clock import Clock
from .driver import Driver, RunSpec, Services
from .errors import ConfigurationError, StaleOwner, StoreError
from .recovery.digests import digest
from .recovery.policy import RecoveryPolicy
from .stores.appendable import AppendableCheckpointStore
from .stores.checkpoints import StreamCheckpoint, StreamCheckpointStore
from .stores.deltas import CheckpointDelta
from .within import finished, within

T = TypeVar("T")


def saver_of(store: StreamCheckpointStore | None, spec: RunSpec, clock: Clock) -> CheckpointSaver | None:
    """The saver of a run that has a store."""
    return None if store is None else CheckpointSaver(store, spec.run_id, spec.policy, clock)


class CheckpointSaver:
    """One run's side of its store. At most one call is under way, and none may take longer than `store_s`."""

    def __init__(self, store: StreamCheckpointStore, key: str, policy: RecoveryPolicy, clock: Clock) -> None:
        self._store = store
        self._key = key
        self._policy = policy
        self._clock = clock
        self._next: StreamCheckpoint | None = None
        self._stored: StreamCheckpoint | None = None
        """What an appendable store has, as far as that is certain."""
        self._forgotten = self._lost = False
        self._task: asyncio.Task[None] | None = None
        self._driver: Driver | None = None
        self._error: Exception | None = None

    async def take_over(
        self, spec: RunSpec, services: Services, found: StreamCheckpoint | None
    ) -> StreamCheckpoint | None:
        """The checkpoint of a run that somebody else began under this id, once it is ours; it may have been
        found before. StaleOwner if somebody was faster; ConfigurationError if it is another request's.
        """
        try:
            found = found or await self._call(self._store.get(self._key))
            if found is None:
                return None
            if found.request_digest != digest(spec.body or b""):
                raise ConfigurationError(f"run {spec.run_id!r} was begun with another request")
            return await self._claim(found)
        except StaleOwner:
            raise
        except StoreError as error:
            if spec.policy.on_store_error == "fail":
                raise
            services.notice("store_down", spec, str(error))
            return None

    async def _claim(self, found: StreamCheckpoint) -> StreamCheckpoint:
        owned = replace(found, epoch=found.epoch + 1)
        if isinstance(self._store, AppendableCheckpointStore):
            owned = self._stored = await self._call(self._store.claim(owned))
        return owned

    def put_soon(self, driver: Driver) -> None:
        self._driver = driver
        checkpoint = driver.checkpoint()
        if checkpoint is not None and not self._forgotten and not self._lost:
            self._next = checkpoint
            self._work()

    def forget_soon(self) -> None:
        """The turn is safe elsewhere: delete the checkpoint, behind every write."""
        self._next, self._forgotten = None, True
        self._work()

    async def flush(self) -> None:
        """Wait for the store; a failure is raised if the policy says that a store must not fail."""
        task = self._task
        if task is not None and not await finished(self._clock, self._policy.store_s, task):
            self._failed(TimeoutError(f"the store is not done after {self._policy.store_s:g} s"))
        error, self._error = self._error, None
        if error is not None and self._policy.on_store_error == "fail":
            raise _as_store_error(error)

    def cancel(self) -> None:
        """The reader has left: what is not written yet is not needed any more."""
        if self._task is not None and not self._forgotten:
            self._next = None
            self._task.cancel()

    def _work(self) -> None:
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._write(), name="seamstream-checkpoint")

    async def _write(self) -> None:
        while not self._lost and (checkpoint := self._next) is not None:
            self._next = None
            await self._try(self._put(checkpoint))
        if self._forgotten and not self._lost:  # also when the last write failed: it would be taken over
            await self._try(self._store.delete(self._key))

    async def _put(self, checkpoint: StreamCheckpoint) -> None:
        """What is certain of the store is forgotten while it is written, because a failure may be none."""
        store = self._store
        if not isinstance(store, AppendableCheckpointStore):
            await store.put(checkpoint)
            return
        stored, self._stored = self._stored, None
        if stored is None:
            stored = await store.claim(checkpoint)
        if stored.order <= checkpoint.order and stored != checkpoint:
            delta = CheckpointDelta.between(stored, checkpoint)
            await store.append(self._key, checkpoint.epoch, stored.characters, delta)
            stored = checkpoint
        self._stored = stored

    async def _try(self, call: Coroutine[Any, Any, None]) -> None:
        try:
            await within(self._clock, self._policy.store_s, call)
        except Exception as error:
            self._failed(error)

    async def _call(self, call: Coroutine[Any, Any, T]) -> T:
        try:
            return await within(self._clock, self._policy.store_s, call)
        except StoreError:
            raise
        except Exception as error:
            raise _as_store_error(error) from error

    def _failed(self, error: Exception) -> None:
        """Somebody else's run is not written about any more."""
        self._error = error
        self._lost = self._lost or isinstance(error, StaleOwner)
        if self._driver is not None:
            kind = "stale_owner" if isinstance(error, StaleOwner) else "store_down"
            self._driver.history.notice(kind, f"{type(error).__name__}: {error}")


def _as_store_error(error: Exception) -> StoreError:
    if isinstance(error, StoreError):
        return error
    made = StoreError(f"the checkpoint store failed: {error}")
    made.__cause__ = error
    return made
