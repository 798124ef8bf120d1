"""What a typed reader gets, in order."""

from __future__ import annotations

from dataclasses import dataclass

from .turn import Usage


@dataclass(frozen=True, slots=True)
class Event:
    """Base of all events. `seq` rises by one within a run."""

    attempt: int
    seq: int


@dataclass(frozen=True, slots=True)
class AttemptStart(Event):
    """A request was answered and its stream begins."""


@dataclass(frozen=True, slots=True)
class TextDelta(Event):
    """More text of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class RefusalDelta(Event):
    """More text of a refusal (OpenAI shapes)."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta(Event):
    """More reasoning text."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCallStart(Event):
    """A tool call opened; it may still be cancelled."""

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class ToolCallDelta(Event):
    """A piece of a tool call's arguments, for display only."""

    id: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ToolCallReady(Event):
    """A tool call is complete and may be executed once the run has finished."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ToolCallCancel(Event):
    """Drop what was buffered of this call. Informs only; it enters no message log."""

    id: str
    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class StreamReset(Event):
    """Drop every delta of the turn so far. Informs only; it enters no message log."""

    reason: str


@dataclass(frozen=True, slots=True)
class Seam(Event):
    """Two attempts meet here. The models are named where another one takes over (`allow_model_change`)."""

    offset: int
    cause: str
    plan: str
    join: str
    model_before: str | None = None
    model_after: str | None = None


@dataclass(frozen=True, slots=True)
class UsageUpdate(Event):
    """Token counters as far as they are known."""

    usage: Usage


@dataclass(frozen=True, slots=True)
class Finish(Event):
    """The turn is whole. `stop_reason` is normalised as in `Snapshot`."""

    stop_reason: str
