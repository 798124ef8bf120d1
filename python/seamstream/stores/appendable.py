"""The port of checkpoint stores that can grow a record: a long answer is not written again and again."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from .checkpoints import StreamCheckpoint, StreamCheckpointStore
from .deltas import CheckpointDelta


@runtime_checkable
class AppendableCheckpointStore(StreamCheckpointStore, Protocol):
    """A `StreamCheckpointStore` that is preferred by `stream()` because it writes only what is new, and that
    knows who owns a run: an owner whom another one followed gets `StaleOwner` from every write.
    """

    async def claim(self, checkpoint: StreamCheckpoint) -> StreamCheckpoint:
        """Become the owner of the run under `checkpoint.epoch`, and return what is stored by then.

        A run that is not stored yet is stored as `checkpoint`. Of one that is, the epoch must be lower, else
        somebody was faster: StaleOwner. An owner whose write failed may claim its own epoch again.
        """
        ...

    async def append(self, key: str, epoch: int, offset: int, delta: CheckpointDelta) -> None:
        """Let the stored checkpoint, which has `offset` characters, grow by `delta`.

        StaleOwner if `epoch` does not own it any more; StoreError if it has another number of characters or
        would have less of them without a restart.
        """
        ...
