"""What a driver asks for and what it is told: all that passes between a run and whoever performs its I/O.

A driver yields an effect and is sent the result that stands next to it. Nothing here names a transport.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from .recovery.causes import BodyEnd
from .recovery.continuation.route import Route
from .recovery.prepare import Preparation
from .types import Event


class Effect:
    """Base of what a driver yields."""

    __slots__ = ()


class Result:
    """Base of what a driver is sent."""

    __slots__ = ()


# ---------------------------------------------------------------- effects


@dataclass(frozen=True, slots=True)
class Open(Effect):
    """Send a request. Result: Opened, OpenFailed or TIMED_OUT (then `StillOpening` goes on)."""

    attempt: int
    body: bytes | None
    """None: as it was first sent."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Headers that this attempt sends in place of the first one's."""
    route: Route | None = None
    """Where it goes, if not where the caller sent it."""
    preparation: Preparation | None = None
    """The user's hook, to be asked before anything is sent."""
    document_bytes: int = 0
    """A document is asked for and no stream: so much of it is wanted."""

    @property
    def unchanged(self) -> bool:
        """It goes as its caller wrote it."""
        return self.attempt == 1 and self.body is None and not self.headers and self.route is None


@dataclass(frozen=True, slots=True)
class StillOpening(Effect):
    """Go on waiting for the answer of the last `Open`. Result: as there."""


@dataclass(frozen=True, slots=True)
class Read(Effect):
    """Receive more of the stream, at most until the timers say so. Result: LOOKED, Broke or TIMED_OUT."""


@dataclass(frozen=True, slots=True)
class Wait(Effect):
    """Let time pass. Result: DONE."""

    seconds: float
    reason: str


@dataclass(frozen=True, slots=True)
class Put(Effect):
    """Store the run's checkpoint. Result: DONE."""


@dataclass(frozen=True, slots=True)
class Forget(Effect):
    """Delete the run's checkpoint. Result: DONE."""


@dataclass(frozen=True, slots=True)
class Emit(Effect):
    """Give the reader bytes, or events. Result: DONE."""

    data: bytes = b""
    events: tuple[Event, ...] = ()


@dataclass(frozen=True, slots=True)
class Close(Effect):
    """End the current attempt. With `reuse` its connection may serve the next request. Result: DONE."""

    reuse: bool = False


@dataclass(frozen=True, slots=True)
class Relay(Effect):
    """The answer just opened is no stream and final: the reader gets the provider's own response. Result:
    Done.
    """

    stop_retrying: bool = False
    """Tell the reader's own retry loop that the budget is spent (`x-should-retry: false`)."""


@dataclass(frozen=True, slots=True)
class Finish(Effect):
    """The reader has got everything: end its stream. Result: DONE."""


@dataclass(frozen=True, slots=True)
class Fail(Effect):
    """End the reader's stream with an exception, behind everything that was received. Result: DONE."""

    error: BaseException


# ---------------------------------------------------------------- results


@dataclass(frozen=True, slots=True)
class Opened(Result):
    """Response headers came. `body` is the beginning of an answer that is no stream (else empty)."""

    status: int
    headers: Mapping[str, str]
    stream: bool
    """A success status and an event stream that can be read as it is."""
    body: bytes = b""
    unreadable: str | None = None
    """Why an event stream cannot be read as it is (then `stream` is False)."""


@dataclass(frozen=True, slots=True)
class OpenFailed(Result):
    """No response came. `error` is the transport's own exception."""

    error: Exception
    retryable: bool = True
    disconnected: bool = False
    """The connection was there and went before a byte of the response came: maybe it was only kept too long.
    """
    refused: str | None = None
    """Why the user's hook would not have it sent."""


@dataclass(frozen=True, slots=True)
class Broke(Result):
    """The body came to an end, clean (`BodyEnd.CLEAN`, no error) or not."""

    end: BodyEnd
    error: BaseException | None = None


class Signal(Result, enum.Enum):
    """Results that carry nothing."""

    DONE = "done"
    TIMED_OUT = "timed out"
    """A timer of the driver is due."""
    LOOKED = "looked"
    """Chunks went past the generator into `Driver.receive`, and one of them needs its attention."""


DONE: Final = Signal.DONE
TIMED_OUT: Final = Signal.TIMED_OUT
LOOKED: Final = Signal.LOOKED
READ: Final = Read()
FINISH: Final = Finish()
