"""Checkpoints in this process's memory: the reference for other stores, for tests and for one process."""

from __future__ import annotations

from typing import Final

from ..clock import Clock, SystemClock
from .checkpoints import StreamCheckpoint

DEFAULT_TTL_S: Final = 86_400.0


class InMemoryStreamCheckpointStore:
    """A `StreamCheckpointStore` in a dict. What nobody came back for goes after `ttl_s`."""

    def __init__(self, *, ttl_s: float = DEFAULT_TTL_S, clock: Clock | None = None) -> None:
        self._ttl_s = ttl_s
        self._clock = clock or SystemClock()
        self._records: dict[str, tuple[float, StreamCheckpoint]] = {}

    async def put(self, checkpoint: StreamCheckpoint) -> None:
        self._drop_expired()
        stored = self._records.get(checkpoint.key)
        if stored is not None and stored[1].order > checkpoint.order:
            return
        self._records.pop(checkpoint.key, None)
        self._records[checkpoint.key] = (self._clock.monotonic() + self._ttl_s, checkpoint)

    async def get(self, key: str) -> StreamCheckpoint | None:
        self._drop_expired()
        stored = self._records.get(key)
        return None if stored is None else stored[1]

    async def delete(self, key: str) -> None:
        self._records.pop(key, None)

    def __len__(self) -> int:
        """How many runs are in flight or were abandoned."""
        self._drop_expired()
        return len(self._records)

    def _drop_expired(self) -> None:
        """Records stand in the order of their expiry, because each put moves its own to the end."""
        now = self._clock.monotonic()
        while self._records:
            key = next(iter(self._records))
            if self._records[key][0] > now:
                return
            del self._records[key]
