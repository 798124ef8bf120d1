"""Frozen records that every layer shares: causes, plans, snapshots, events, outcomes.

This module imports nothing of the package, so that anything may import it. Times are seconds, offsets are
characters of the answer's text unless a name says bytes.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Literal

Reader = Literal["bytes", "typed"]
OutcomeKind = Literal["complete", "recovered", "salvaged", "truncated", "failed", "cancelled"]


# ---------------------------------------------------------------- causes


@dataclass(frozen=True, slots=True)
class InterruptCause:
    """Why an attempt ended before its provider proved the answer complete."""

    @property
    def code(self) -> str:
        """The cause as one word, used in metrics and log lines."""
        return type(self).__name__

    @property
    def inferred(self) -> bool:
        """True when nothing broke visibly and the cut is our own conclusion."""
        return False

    def __str__(self) -> str:
        return self.code


@dataclass(frozen=True, slots=True)
class ConnectionReset(InterruptCause):
    """The connection broke after the response headers."""


@dataclass(frozen=True, slots=True)
class IdleStall(InterruptCause):
    """No progress (pings and comments are none) within the phase's limit."""

    @property
    def inferred(self) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class GoAway(InterruptCause):
    """HTTP/2 GOAWAY in the middle of the response."""


@dataclass(frozen=True, slots=True)
class Provider5xxMidStream(InterruptCause):
    """The provider reported a failure inside the stream. `status` is its HTTP status or the nearest one."""

    status: int = 500

    def __str__(self) -> str:
        return f"Provider5xxMidStream({self.status})"


@dataclass(frozen=True, slots=True)
class EarlyEof(InterruptCause):
    """The body ended cleanly without the dialect's proof of completeness."""

    @property
    def inferred(self) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class MalformedFrame(InterruptCause):
    """The transfer coding or the event framing was broken."""


@dataclass(frozen=True, slots=True)
class ResumedFromCheckpoint(InterruptCause):
    """Another process held this run before; its checkpoint is where this one begins."""


# ---------------------------------------------------------------- plans and seams


class Plan(enum.Enum):
    """What to do about a cut (DESIGN: R0 to R4)."""

    COMPLETE = "R0"
    CONTINUE_TEXT = "R1"
    SYNTHESIZE_TOOL_USE = "R2"
    TRUNCATE_BEFORE_TOOL = "R3"
    WHOLE_RESTART = "R4"

    @property
    def needs_request(self) -> bool:
        return self not in (Plan.COMPLETE, Plan.SYNTHESIZE_TOOL_USE)


class Join(enum.Enum):
    """How sure we are of the place where two attempts meet, surest first."""

    NATIVE = "native"
    TOKEN_EXACT = "token_exact"
    PREFILL = "prefill"
    ANCHORED = "anchored"
    UNANCHORED = "unanchored"


@dataclass(frozen=True, slots=True)
class SeamRecord:
    """One seam of a turn. `offset` is the character of the text where attempt `attempt` takes over."""

    offset: int
    cause: str
    plan: str
    join: str
    attempt: int
    whitespace_guess: bool = False
    model_before: str | None = None
    model_after: str | None = None


# ---------------------------------------------------------------- the turn


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A complete tool call. `arguments` is the raw JSON text as received (`{}` when it was empty)."""

    id: str
    name: str
    arguments: str
    signature: str = ""
    """What its provider wants to have back with it (Gemini's `thoughtSignature`)."""


@dataclass(frozen=True, slots=True)
class PartialToolCall:
    """A tool call that a cut left unfinished. Its arguments are for display only."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counters. None means that nobody reported the number."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    complete: bool = True
    estimated: bool = False


@dataclass(frozen=True, slots=True)
class Shown:
    """What has already left for the reader."""

    anything: bool = False
    text_chars: int = 0
    refusal: bool = False
    reasoning: bool = False
    tool: bool = False
    live_tool: bool = False
    """A tool call that is still unfinished has left in part."""
    server_item: bool = False


@dataclass(frozen=True, slots=True)
class InBandError:
    """An error that the provider reported inside a 200 stream. `raw` is its event as received."""

    type: str
    code: str
    status: int | None
    message: str
    raw: bytes


@dataclass(frozen=True, slots=True)
class ResumePoint:
    """Where a server that still has a response's stream would have to go on.

    `event` is the mark of the last event that was read, None where events have none. `offset` counts the
    bytes of this response's stream that were read in whole events.
    """

    response_id: str
    event: str | None
    offset: int


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Everything a run has received so far, over all attempts."""

    attempt: int
    text: str
    reasoning: str
    refusal: str
    completed_tool_calls: tuple[ToolCall, ...]
    in_flight_tools: tuple[PartialToolCall, ...]
    usage: Usage
    stop_reason: str | None
    """Normalised: end_turn, max_tokens, stop_sequence, tool_use, content_filter, refusal, pause, error
    (the provider ended the answer because it could not read what its model said), other."""
    raw_stop_reason: str | None
    terminal_seen: bool
    """The dialect proved completeness (a normal stop reason on every choice, or the end event)."""
    shown: Shown
    bytes_received: int
    content_deltas: int
    """Number of text and reasoning deltas of the current attempt: a lower bound of its output tokens."""
    choices: int
    """Number of choices seen (n > 1 when above 1)."""
    server_items: Literal["none", "paired", "open"]
    signed_thinking: tuple[str, ...]
    """Whole thinking blocks that carry a signature, as JSON, in order (Anthropic)."""
    response_id: str
    model: str
    degraded: str | None
    error: InBandError | None
    resume_point: ResumePoint | None = None
    """None where the turn is not exactly what one response's stream brought. Meaningful only after a cut."""


@dataclass(frozen=True, slots=True)
class AttemptRecord:
    """One upstream request of a run."""

    number: int
    started_at: float
    ended_at: float | None = None
    status: int | None = None
    request_id: str | None = None
    cause: str | None = None
    plan: str | None = None
    strategy: str | None = None
    emitted_chars: int = 0
    usage: Usage = field(default_factory=Usage)
    error: str | None = None
    target: str = ""
    """Scheme, host and port that it was sent to."""


@dataclass(frozen=True, slots=True)
class Turn:
    """The assistant turn that a run produced, one message over all attempts."""

    text: str
    reasoning: str
    refusal: str
    tool_calls: tuple[ToolCall, ...]
    usage: Usage
    stop_reason: str | None
    attempts: tuple[AttemptRecord, ...]
    seams: tuple[SeamRecord, ...]
    hints: tuple[str, ...]
    outcome: Outcome
    signed_thinking: tuple[str, ...] = ()
    """Whole thinking blocks that carry a signature, as JSON, in order (Anthropic)."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended. `extra_usage` is the usage of all attempts but the first."""

    kind: OutcomeKind
    attempts: int
    joins: tuple[str, ...]
    extra_usage: Usage
    run_id: str
    request_ids: tuple[str, ...]
    degraded: str | None
    plan: str | None = None
    causes: tuple[str, ...] = ()


# ---------------------------------------------------------------- events of the typed reader


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
