"""Frozen records that every layer shares: causes, plans, snapshots, events, outcomes.

This package imports nothing of the others, so that anything may import it. Times are seconds, offsets are
characters of the answer's text unless a name says bytes.
"""

from .causes import (
    ConnectionReset,
    EarlyEof,
    GoAway,
    IdleStall,
    InterruptCause,
    MalformedFrame,
    Provider5xxMidStream,
    ResumedFromCheckpoint,
)
from .events import (
    AttemptStart,
    Event,
    Finish,
    ReasoningDelta,
    RefusalDelta,
    Seam,
    StreamReset,
    TextDelta,
    ToolCallCancel,
    ToolCallDelta,
    ToolCallReady,
    ToolCallStart,
    UsageUpdate,
)
from .seams import (
    Join,
    Plan,
    SeamRecord,
)
from .turn import (
    AttemptRecord,
    InBandError,
    Outcome,
    OutcomeKind,
    PartialToolCall,
    Reader,
    ResumePoint,
    Shown,
    Snapshot,
    ToolCall,
    Turn,
    Usage,
)

__all__ = [
    "AttemptRecord",
    "AttemptStart",
    "ConnectionReset",
    "EarlyEof",
    "Event",
    "Finish",
    "GoAway",
    "IdleStall",
    "InBandError",
    "InterruptCause",
    "Join",
    "MalformedFrame",
    "Outcome",
    "OutcomeKind",
    "PartialToolCall",
    "Plan",
    "Provider5xxMidStream",
    "Reader",
    "ReasoningDelta",
    "RefusalDelta",
    "ResumePoint",
    "ResumedFromCheckpoint",
    "Seam",
    "SeamRecord",
    "Shown",
    "Snapshot",
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
]
