"""The assistant turn of a run: as the core sees it while it grows (`Snapshot`), and as its reader gets it
(`Turn`) with its attempts and its outcome.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from .seams import SeamRecord

Reader = Literal["bytes", "typed"]
OutcomeKind = Literal["complete", "recovered", "salvaged", "truncated", "failed", "cancelled"]


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
