"""Checkpoints on any `Backend`: a head record that names the owner, and a log that grows by deltas.

The head is changed by compare-and-set only, so of two who claim a run one wins. It names the run's log; an
append goes behind the last entry that its owner knows, so the first entry of a new owner locks the old one
out. What an old owner has appended before that belongs to the run.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import Final

import orjson

from ..clock import Clock, SystemClock
from ..errors import StaleOwner, StoreError
from .backend import Backend, Key, LogEntry
from .checkpoint_head import CheckpointHead
from .checkpoints import StreamCheckpoint
from .cipher import Cipher, Plain, decrypted, encrypted
from .deltas import CheckpointDelta, join_deltas

DEFAULT_TTL_S: Final = 86_400.0
MAX_KNOWN_RUNS: Final = 16_384
"""Runs in flight whose place in their log is remembered; of others it is read again."""
_FOLDER: Final = "checkpoint"
_DELTA, _REQUEST = b"d", b"r"


@dataclass(slots=True)
class _Owned:
    """Where a run of ours stands in the store."""

    head: CheckpointHead
    revision: int
    written_at: float
    """When its time to live was set last."""
    seq: int
    restarts: int
    characters: int


class BackendCheckpointStore:
    """An `AppendableCheckpointStore` of one tenant. Runs that nobody comes back for go `ttl_s` after their
    last write. With a `cipher` the base request and the answer are stored encrypted.
    """

    def __init__(
        self,
        backend: Backend,
        tenant: str,
        *,
        ttl_s: float = DEFAULT_TTL_S,
        cipher: Cipher | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.backend = backend
        self.tenant = tenant
        self.ttl_s = ttl_s
        self.cipher: Cipher = cipher or Plain()
        self._clock = clock or SystemClock()
        self._name = self._clock.uuid()
        self._runs: OrderedDict[str, _Owned] = OrderedDict()

    async def get(self, key: str) -> StreamCheckpoint | None:
        found = await self._head(key)
        if found is None:
            return None
        head, _ = found
        stored = self._joined(await self._entries(key, head))
        return None if stored is None else replace(stored, epoch=head.epoch)

    async def claim(self, checkpoint: StreamCheckpoint) -> StreamCheckpoint:
        key, found = checkpoint.key, await self._head(checkpoint.key)
        if found is None or not await self._entries(key, found[0], limit=1):
            return await self._begin(checkpoint, 0 if found is None else found[1])
        head, revision = found
        if head.epoch < checkpoint.epoch:
            head = CheckpointHead.of(checkpoint, self._name, head.log)
            revision = await self._set_head(key, head, revision)
        elif (head.epoch, head.owner) != (checkpoint.epoch, self._name) or key in self._runs:
            raise StaleOwner(f"run {checkpoint.run_id!r} has an owner of epoch {head.epoch}")
        return await self._lock_out(checkpoint, head, revision)

    async def append(self, key: str, epoch: int, offset: int, delta: CheckpointDelta) -> None:
        owned = await self._owned(key, epoch)
        if offset != owned.characters:
            raise StoreError(f"the checkpoint has {owned.characters} characters, not {offset}")
        if (delta.restarts, delta.characters) < (owned.restarts, owned.characters):
            raise StoreError("a checkpoint cannot shrink")
        self._runs.pop(key, None)  # until this has succeeded nobody knows where the log ends
        await self._keep_alive(key, owned)
        seq = await self._append(key, owned.head, [_DELTA + delta.data], owned.seq)
        if seq is None:
            await self._still_owned(key, owned.head)
            raise StoreError("the checkpoint's log has grown since it was read")
        owned.seq, owned.restarts, owned.characters = seq, delta.restarts, delta.characters
        self._remember(key, owned)

    async def put(self, checkpoint: StreamCheckpoint) -> None:
        stored = await self.get(checkpoint.key)
        if stored is None or stored.epoch < checkpoint.epoch:
            stored = await self.claim(checkpoint)
        elif stored.epoch > checkpoint.epoch:
            raise StaleOwner(f"run {checkpoint.run_id!r} has an owner of epoch {stored.epoch}")
        if stored.order > checkpoint.order or stored == checkpoint:
            return
        delta = CheckpointDelta.between(stored, checkpoint)
        await self.append(checkpoint.key, checkpoint.epoch, stored.characters, delta)

    async def delete(self, key: str) -> None:
        owned, found = self._runs.pop(key, None), await self._head(key)
        if found is None:
            return
        head, revision = found
        if owned is not None and owned.head != head:
            raise StaleOwner(f"run {head.run_id!r} has an owner of epoch {head.epoch}")
        if not await self.backend.delete(self.tenant, _head_key(key), revision=revision):
            raise StaleOwner(f"run {head.run_id!r} was claimed while it was deleted")
        await self.backend.drop(self.tenant, _log_key(key, head))

    # ---------------------------------------------------------------- becoming the owner

    async def _begin(self, checkpoint: StreamCheckpoint, revision: int) -> StreamCheckpoint:
        """Store a new run. Its log is written first, so that a head never names one that is not there."""
        key, head = checkpoint.key, CheckpointHead.of(checkpoint, self._name, self._clock.uuid())
        delta = CheckpointDelta.between(None, checkpoint)
        request = [] if checkpoint.base_request is None else [_REQUEST + checkpoint.base_request]
        seq = await self._append(key, head, [*request, _DELTA + delta.data], 0)
        try:
            revision = await self._set_head(key, head, revision)
        except StaleOwner:
            await self.backend.drop(self.tenant, _log_key(key, head))
            raise
        now = self._clock.monotonic()
        self._remember(key, _Owned(head, revision, now, seq or 0, delta.restarts, delta.characters))
        return checkpoint

    async def _lock_out(
        self, checkpoint: StreamCheckpoint, head: CheckpointHead, revision: int
    ) -> StreamCheckpoint:
        """Put an entry of ours into the log, wherever it ends: who does not know it appends nothing more.

        Only then the head is asked again. Whoever claimed the run meanwhile puts its entry behind ours.
        """
        key = checkpoint.key
        mark = _DELTA + orjson.dumps({"fields": {"epoch": head.epoch}})
        seq = await self._append(key, head, [mark], None)
        if seq is None or seq == 1:
            await self.backend.drop(self.tenant, _log_key(key, head))
            raise StaleOwner(f"run {checkpoint.run_id!r} was committed meanwhile")
        await self._still_owned(key, head)
        stored = self._joined(await self._entries(key, head))
        if stored is None:
            raise StaleOwner(f"run {checkpoint.run_id!r} was committed meanwhile")
        now, restarts, characters = self._clock.monotonic(), stored.restarts, stored.characters
        self._remember(key, _Owned(head, revision, now, seq, restarts, characters))
        return replace(stored, epoch=head.epoch)

    async def _owned(self, key: str, epoch: int) -> _Owned:
        """What is known of a run of ours, or can be read."""
        owned = self._runs.get(key)
        if owned is not None and owned.head.epoch == epoch:
            return owned
        found = await self._head(key)
        if found is None or (found[0].epoch, found[0].owner) != (epoch, self._name):
            raise StaleOwner(f"epoch {epoch} does not own checkpoint {key!r}")
        entries = await self._entries(key, found[0])
        stored = self._joined(entries)
        if stored is None:
            raise StaleOwner(f"checkpoint {key!r} has expired")
        return _Owned(*found, -self.ttl_s, entries[-1].seq, stored.restarts, stored.characters)

    async def _still_owned(self, key: str, head: CheckpointHead) -> None:
        found = await self._head(key)
        if found is None or found[0] != head:
            raise StaleOwner(f"run {head.run_id!r} is not owned by epoch {head.epoch} any more")

    async def _keep_alive(self, key: str, owned: _Owned) -> None:
        """The head must not expire before its log; half of its time is soon enough."""
        now = self._clock.monotonic()
        if now - owned.written_at > self.ttl_s / 2:
            owned.revision = await self._set_head(key, owned.head, owned.revision)
            owned.written_at = now

    def _remember(self, key: str, owned: _Owned) -> None:
        self._runs[key] = owned
        self._runs.move_to_end(key)
        if len(self._runs) > MAX_KNOWN_RUNS:
            self._runs.popitem(last=False)

    # ---------------------------------------------------------------- the backend

    async def _head(self, key: str) -> tuple[CheckpointHead, int] | None:
        record = await self.backend.get(self.tenant, _head_key(key))
        return None if record is None else (CheckpointHead.from_json(record.value), record.revision)

    async def _set_head(self, key: str, head: CheckpointHead, revision: int) -> int:
        later = await self.backend.compare_and_set(
            self.tenant, _head_key(key), head.to_json(), revision=revision, ttl_s=self.ttl_s
        )
        if later is None:
            raise StaleOwner(f"somebody else has claimed run {head.run_id!r}")
        return later

    async def _append(
        self, key: str, head: CheckpointHead, values: list[bytes], after: int | None
    ) -> int | None:
        sealed = [encrypted(self.cipher, value) for value in values]
        return await self.backend.append(
            self.tenant, _log_key(key, head), sealed, after=after, ttl_s=self.ttl_s
        )

    async def _entries(self, key: str, head: CheckpointHead, limit: int | None = None) -> list[LogEntry]:
        return await self.backend.read(self.tenant, _log_key(key, head), limit=limit)

    def _joined(self, entries: list[LogEntry]) -> StreamCheckpoint | None:
        values = [decrypted(self.cipher, entry.value) for entry in entries]
        if strange := next((value for value in values if value[:1] not in (_DELTA, _REQUEST)), None):
            raise StoreError(f"an entry of kind {strange[:1]!r} of a checkpoint's log cannot be read")
        stored = join_deltas(value[1:] for value in values if value[:1] == _DELTA)
        request = next((value[1:] for value in values if value[:1] == _REQUEST), None)
        return None if stored is None else replace(stored, base_request=request)


def _head_key(key: str) -> Key:
    return (_FOLDER, key)


def _log_key(key: str, head: CheckpointHead) -> Key:
    return (_FOLDER, key, head.log)
