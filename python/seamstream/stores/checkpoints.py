"""The record by which another process goes on with a run, and the three-method port that keeps it.

A checkpoint is no conversation log: it holds the turn in flight and is deleted once that turn is committed.
It never holds credentials. `(epoch, restarts, characters)` never decreases under one key, so a late write of
an older owner or of an attempt that came back empty cannot undo a newer one; stores compare it (see
`StreamCheckpoint.order`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import orjson

from ..errors import StoreError
from ..types import AttemptRecord, PartialToolCall, SeamRecord, Snapshot, ToolCall
from .encoding import decode_record, encode_record

SCHEMA_VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class StreamCheckpoint:
    """A run in flight. `epoch` counts owners, `restarts` the whole restarts (R4) of the turn so far.

    `budget` is `RunBudget.to_dict()`. `base_request` is the request body as the caller wrote it, kept only
    when another process may take over by the run's id alone.
    """

    key: str
    run_id: str
    dialect: str
    attempt: int
    snapshot: Snapshot
    epoch: int = 1
    restarts: int = 0
    request_digest: str = ""
    model: str = ""
    attempts: tuple[AttemptRecord, ...] = ()
    seams: tuple[SeamRecord, ...] = ()
    budget: Mapping[str, Any] = field(default_factory=dict)
    base_request: bytes | None = None
    replayable: bool = False
    """Its events are in a log, too."""
    schema_version: int = SCHEMA_VERSION

    @property
    def characters(self) -> int:
        """How much of the turn was received."""
        turn = self.snapshot
        calls: list[ToolCall | PartialToolCall] = [*turn.completed_tool_calls, *turn.in_flight_tools]
        said = [turn.text, turn.reasoning, turn.refusal, *(call.arguments for call in calls)]
        return sum(map(len, said))

    @property
    def order(self) -> tuple[int, int, int]:
        """A store keeps the checkpoint with the greatest order under a key; of equals the last."""
        return (self.epoch, self.restarts, self.characters)

    def to_json(self) -> bytes:
        """The record as JSON."""
        return orjson.dumps(encode_record(self))

    @classmethod
    def from_json(cls, data: bytes) -> StreamCheckpoint:
        """Read a record; what this version cannot read is a StoreError, never a guess."""
        try:
            fields = orjson.loads(data)
            version = fields["schema_version"]
            if version != SCHEMA_VERSION:
                raise StoreError(
                    f"a checkpoint has schema version {version}, this version reads {SCHEMA_VERSION}"
                )
            return decode_record(cls, fields)
        except (KeyError, TypeError, ValueError) as error:
            raise StoreError(f"a checkpoint cannot be read: {error}") from error


class StreamCheckpointStore(Protocol):
    """Where checkpoints live. Anybody can implement it; a failure is a StoreError.

    `put` is an idempotent upsert by `checkpoint.key` that ignores a checkpoint of a lesser `order` than the
    stored one. `get` answers None for a key that was never put, was deleted or has expired. `delete` may be
    repeated.
    """

    async def put(self, checkpoint: StreamCheckpoint) -> None: ...
    async def get(self, key: str) -> StreamCheckpoint | None: ...
    async def delete(self, key: str) -> None: ...
