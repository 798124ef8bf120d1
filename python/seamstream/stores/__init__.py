"""Where runs in flight are kept so that another process can go on with them."""

from .checkpoints import StreamCheckpoint, StreamCheckpointStore
from .memory import InMemoryStreamCheckpointStore

__all__ = ["InMemoryStreamCheckpointStore", "StreamCheckpoint", "StreamCheckpointStore"]
