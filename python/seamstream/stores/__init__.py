"""Where runs in flight and durable work are kept, so that another process can go on with them."""

from .backend import Backend, Job, LogEntry, Operator, Record
from .checkpoints import StreamCheckpoint, StreamCheckpointStore
from .memory import InMemoryStreamCheckpointStore
from .url import open_store

__all__ = [
    "Backend",
    "InMemoryStreamCheckpointStore",
    "Job",
    "LogEntry",
    "Operator",
    "Record",
    "StreamCheckpoint",
    "StreamCheckpointStore",
    "open_store",
]
