"""The small record that says who owns a run in flight and where the rest of its checkpoint is."""

from __future__ import annotations

from dataclasses import dataclass

import orjson

from ..errors import StoreError
from .checkpoints import SCHEMA_VERSION, StreamCheckpoint
from .encoding import decode_record, encode_record


@dataclass(frozen=True, slots=True)
class CheckpointHead:
    """Who owns a run and where its log is; the other facts are as they were at the last claim."""

    epoch: int
    owner: str
    log: str
    run_id: str
    dialect: str
    model: str
    restarts: int
    attempt: int
    request_digest: str
    schema_version: int = SCHEMA_VERSION

    @classmethod
    def of(cls, checkpoint: StreamCheckpoint, owner: str, log: str) -> CheckpointHead:
        names = ("run_id", "dialect", "model", "restarts", "attempt", "request_digest")
        return cls(checkpoint.epoch, owner, log, *(getattr(checkpoint, name) for name in names))

    def to_json(self) -> bytes:
        return orjson.dumps(encode_record(self))

    @classmethod
    def from_json(cls, data: bytes) -> CheckpointHead:
        """StoreError for what this version cannot read."""
        try:
            fields = orjson.loads(data)
            version = fields["schema_version"]
            if version != SCHEMA_VERSION:
                raise StoreError(f"a checkpoint has schema version {version}, not {SCHEMA_VERSION}")
            return decode_record(cls, fields)
        except (KeyError, TypeError, ValueError) as error:
            raise StoreError(f"a checkpoint's head cannot be read: {error}") from error
