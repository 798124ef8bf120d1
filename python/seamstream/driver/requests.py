"""What an attempt met (`Setback`), and what a run does next: it is whole, it asks again, or it gives up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from ..effects import Opened
from ..recovery.classify import FailureClass
from ..recovery.continuation.build import Continuation
from ..recovery.continuation.facts import Strategy
from ..recovery.continuation.route import Route
from ..recovery.targets import Place
from ..types import InterruptCause, Plan


@dataclass(frozen=True, slots=True)
class Request:
    """One attempt's request. Without a continuation it is the request as it was first sent."""

    number: int
    plan: Plan | None = None
    continuation: Continuation | None = None
    place: Place | None = None
    """Where it goes; None stands for where the run is."""
    base: bytes | None = None
    """The base request, if it is not the caller's because another model is asked."""

    @property
    def body(self) -> bytes | None:
        return self.continuation.body if self.continuation is not None else self.base

    @property
    def route(self) -> Route | None:
        own = self.continuation.route if self.continuation is not None else None
        fallback = self.place.fallback if self.place is not None else None
        if fallback is None:
            return own
        own = own or Route()
        return replace(own, url=fallback.url, headers=(*fallback.headers.items(), *own.headers))

    @property
    def strategy(self) -> Strategy | None:
        return self.continuation.strategy if self.continuation is not None else None


@dataclass(frozen=True, slots=True)
class Setback:
    """Why an attempt brought no whole answer. `cause` is None when it failed before its stream began."""

    cause: InterruptCause | None
    failure: FailureClass | None = None
    error: BaseException | None = None
    opened: Opened | None = None
    seam_refusal: str | None = None
    refused: str | None = None
    """Why the user's hook would not have it sent."""
    disconnected: bool = False
    """A connection that was there went before the response began."""
    refusal: str | None = None
    """Why nothing but a turn that is whole already can come of this."""
    too_large: bool = False
    """One event was larger than allowed: an error of its own."""


@dataclass(frozen=True, slots=True)
class Whole:
    """The turn can be closed as it is: R0, R2, or at the length limit (`plan` is None)."""

    plan: Plan | None
    hints: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ask:
    """Send `request` after `wait_s`. A free one is not paid for. `places` are where it may go, best first:
    `request` is for the first of them, `at` makes it for another.
    """

    request: Request
    wait_s: float
    places: tuple[Place, ...]
    at: Callable[[Place], Request | Whole | GiveUp]
    free: bool = False


@dataclass(frozen=True, slots=True)
class GiveUp:
    """No further request. `code` is an error code of `seamstream.errors`."""

    code: str
    why: str


Step = Whole | Ask | GiveUp
