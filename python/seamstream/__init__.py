"""seamstream: an LLM answer that breaks while it streams still reaches its reader whole."""

from .capture import capture
from .errors import (
    AttemptRefusedError,
    ConfigurationError,
    FrameTooLarge,
    HttpFailureError,
    NotAnEventStream,
    SeamstreamError,
    StoreError,
    StreamCutError,
)
from .middleware import RecoveryMiddleware
from .recovery.continuation.profile import Profile
from .recovery.continuation.profiles import ProfileBook
from .recovery.policy import BackoffPolicy, RecoveryPolicy
from .recovery.prepare import Attempt, AttemptRefusal, AttemptRequest
from .recovery.targets import Fallback
from .stores.checkpoints import StreamCheckpoint, StreamCheckpointStore
from .stores.memory import InMemoryStreamCheckpointStore
from .stream import Run, stream
from .types import (
    AttemptRecord,
    AttemptStart,
    Event,
    Finish,
    InterruptCause,
    Outcome,
    PartialToolCall,
    Plan,
    ReasoningDelta,
    RefusalDelta,
    Seam,
    SeamRecord,
    StreamReset,
    TextDelta,
    ToolCall,
    ToolCallCancel,
    ToolCallDelta,
    ToolCallReady,
    ToolCallStart,
    Turn,
    Usage,
    UsageUpdate,
)
from .wrap import wrap

__all__ = [
    "Attempt",
    "AttemptRecord",
    "AttemptRefusal",
    "AttemptRefusedError",
    "AttemptRequest",
    "AttemptStart",
    "BackoffPolicy",
    "ConfigurationError",
    "Event",
    "Fallback",
    "Finish",
    "FrameTooLarge",
    "HttpFailureError",
    "InMemoryStreamCheckpointStore",
    "InterruptCause",
    "NotAnEventStream",
    "Outcome",
    "PartialToolCall",
    "Plan",
    "Profile",
    "ProfileBook",
    "ReasoningDelta",
    "RecoveryMiddleware",
    "RecoveryPolicy",
    "RefusalDelta",
    "Run",
    "Seam",
    "SeamRecord",
    "SeamstreamError",
    "StoreError",
    "StreamCheckpoint",
    "StreamCheckpointStore",
    "StreamCutError",
    "StreamReset",
    "TextDelta",
    "ToolCall",
    "ToolCallCancel",
    "ToolCallDelta",
    "ToolCallReady",
    "ToolCallStart",
    "Turn",
    "Usage",
    "UsageUpdate",
    "capture",
    "stream",
    "wrap",
]
