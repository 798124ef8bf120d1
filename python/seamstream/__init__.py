"""seamstream: an LLM answer that breaks while it streams still reaches its reader whole."""

from .capture import capture
from .errors import (
    AttemptRefusedError,
    ConfigurationError,
    FrameTooLarge,
    HttpFailureError,
    NotAnEventStream,
    SeamstreamError,
    StaleOwner,
    StoreError,
    StoreLimitError,
    StreamCutError,
    UnknownRun,
    WaitingForCredentials,
)
from .middleware import RecoveryMiddleware
from .recovery.continuation.profile import Profile
from .recovery.continuation.profiles import ProfileBook
from .recovery.policy import BackoffPolicy, RecoveryPolicy
from .recovery.prepare import Attempt, AttemptRefusal, AttemptRequest
from .recovery.targets import Fallback
from .replay import replay
from .stores.appendable import AppendableCheckpointStore
from .stores.backend_checkpoints import BackendCheckpointStore
from .stores.checkpoints import StreamCheckpoint, StreamCheckpointStore
from .stores.cipher import Cipher
from .stores.memory import InMemoryStreamCheckpointStore
from .stores.replay_events import Gap, RunEnd
from .stores.url import open_store
from .stream import Run, stream
from .takeover import take_over
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
    "AppendableCheckpointStore",
    "Attempt",
    "AttemptRecord",
    "AttemptRefusal",
    "AttemptRefusedError",
    "AttemptRequest",
    "AttemptStart",
    "BackendCheckpointStore",
    "BackoffPolicy",
    "Cipher",
    "ConfigurationError",
    "Event",
    "Fallback",
    "Finish",
    "FrameTooLarge",
    "Gap",
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
    "RunEnd",
    "Seam",
    "SeamRecord",
    "SeamstreamError",
    "StaleOwner",
    "StoreError",
    "StoreLimitError",
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
    "UnknownRun",
    "Usage",
    "UsageUpdate",
    "WaitingForCredentials",
    "capture",
    "open_store",
    "replay",
    "stream",
    "take_over",
    "wrap",
]
