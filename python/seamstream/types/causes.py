"""Why an attempt ended before its answer was whole: a cause that only we can draw is `inferred`."""

from __future__ import annotations

from dataclasses import dataclass


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
