"""Where runs in flight and durable work are kept, so that another process can go on with them."""

from .appendable import AppendableCheckpointStore
from .backend import Backend, Job, LogEntry, Operator, Record
from .backend_checkpoints import BackendCheckpointStore
from .checkpoints import StreamCheckpoint, StreamCheckpointStore
from .cipher import Cipher
from .deltas import CheckpointDelta, join_deltas
from .memory import InMemoryStreamCheckpointStore
from .url import open_store

__all__ = [
    "AppendableCheckpointStore",
    "Backend",
    "BackendCheckpointStore",
    "CheckpointDelta",
    "Cipher",
    "InMemoryStreamCheckpointStore",
    "Job",
    "LogEntry",
    "Operator",
    "Record",
    "StreamCheckpoint",
    "StreamCheckpointStore",
    "join_deltas",
    "open_store",
]
