"""The exception tree. A class says whose fault it is; `code` and `retryable` what a program may do about it.

    SeamstreamError
     |- ConfigurationError (ValueError)   the caller: a policy, a profile or a missing extra
     |- StoreError                        a store failed or holds what we cannot read
     |   |- StoreLimitError               ... was given more than it takes
     |   |- StaleOwner                    ... somebody else goes on with the run
     |   `- UnknownRun                    ... holds no run of that id
     |- WaitingForCredentials             a run cannot be gone on with until somebody brings credentials
     |- IllegalTransitionError            a bug in seamstream: a run took an arrow that does not exist
     |- AttemptRefusedError               the cause of a StreamCutError: a hook of the caller's refused
     |- HttpFailureError                  the provider answered, but with no stream and for good
     |   `- NotAnEventStream              ... with a success status: a login page, one JSON document
     |- FrameTooLarge                     one event is larger than `max_event_bytes`
     `- StreamCutError                    a stream broke and could not be made whole

A transport raises a subclass of StreamCutError that is also the transport's own class, so that a reader's
existing `except` clauses keep working; hence the constructors below pass only the message on and keep
everything else as attributes with defaults, which also is what copying and pickling an exception needs.

Why a cut was not continued is data (`StreamCutError.code`), not a class: nobody handles those cases in
different places.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from typing import Self

    from .types import InterruptCause, Turn

NOT_CONTINUABLE: Final = "not_continuable"
PERMANENT_ERROR: Final = "permanent_error"
BUDGET_EXHAUSTED: Final = "budget_exhausted"
IDENTICAL_PARTIALS: Final = "identical_partials"
TARGET_BUDGET_EMPTY: Final = "target_budget_empty"
WAIT_TOO_LONG: Final = "wait_too_long"
SEAM_REFUSED: Final = "seam_refused"
ATTEMPT_REFUSED: Final = "attempt_refused"
RECOVERY_OFF: Final = "recovery_off"
ABORTED: Final = "aborted"

MAX_EXCERPT_CHARS: Final = 200


class SeamstreamError(Exception):
    """Base of everything that seamstream raises."""


class ConfigurationError(SeamstreamError, ValueError):
    """A setting is wrong, or an optional package that it needs is missing."""


class StoreError(SeamstreamError):
    """A store could not do what was asked, or holds a record that this version cannot read."""


class StoreLimitError(StoreError):
    """A value, a key or all data together are larger than a store takes; the message names the limit."""


class StaleOwner(StoreError):
    """The run belongs to another owner by now: who gets this must not write about it any more."""


class UnknownRun(StoreError):
    """No run of that id is in flight: it was committed, aborted, has expired or never was."""


class WaitingForCredentials(SeamstreamError):
    """The run is whole in its store and waits for somebody whose credentials the provider takes."""

    def __init__(self, run_id: str = "") -> None:
        super().__init__(f"run {run_id!r} waits for credentials")
        self.run_id = run_id


class AttemptRefusedError(SeamstreamError):
    """The policy's `prepare_attempt` refused an attempt, or broke; then what it raised is the cause."""


class IllegalTransitionError(SeamstreamError):
    """A run was asked to take an arrow that its state machine does not have."""


class HttpFailureError(SeamstreamError):
    """The provider's final answer was no stream. `kind` is its failure class, `excerpt` its first words."""

    def __init__(
        self,
        message: str,
        *,
        status: int = 0,
        content_type: str = "",
        excerpt: str = "",
        kind: str = "",
        retryable: bool = False,
        retry_after_s: float | None = None,
        request_id: str | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.content_type = content_type
        self.excerpt = excerpt
        self.kind = kind
        self.retryable = retryable
        self.retry_after_s = retry_after_s
        self.request_id = request_id


class NotAnEventStream(HttpFailureError):
    """A success status whose body is no event stream. It is no truncation, and asking again cannot help."""

    @classmethod
    def of(cls, status: int, content_type: str, body: bytes) -> Self:
        """Describe such an answer; only the first characters of its body are kept."""
        excerpt = " ".join(body[: 4 * MAX_EXCERPT_CHARS].decode("utf-8", "replace").split())[
            :MAX_EXCERPT_CHARS
        ]
        shown_type = content_type or "no content type"
        message = (
            f"the answer is no event stream: status {status}, {shown_type}, body begins with {excerpt!r}"
        )
        return cls(
            message, status=status, content_type=content_type, excerpt=excerpt, kind="not_an_event_stream"
        )


class FrameTooLarge(SeamstreamError):
    """One event passed `max_event_bytes`. `offset` is the byte of the stream where it began."""

    def __init__(self, message: str, *, limit_bytes: int = 0, offset: int = 0) -> None:
        super().__init__(message)
        self.limit_bytes = limit_bytes
        self.offset = offset


@dataclass(frozen=True, slots=True)
class CutReport:
    """The facts of a run that could not be made whole. `code` is one of this module's constants."""

    cause: InterruptCause | None
    code: str
    why: str
    attempt: int
    attempts_allowed: int
    characters: int
    run_id: str
    retryable: bool = False
    request_ids: tuple[str, ...] = ()
    turn: Turn | None = None

    def message(self) -> str:
        """What broke, where, why it was not continued, where the partial is, and the ids to ask about."""
        what = str(self.cause) if self.cause is not None else "failure"
        where = f"after character {self.characters}, attempt {self.attempt} of {self.attempts_allowed}"
        partial = "what was received is in .turn" if self.turn is not None else "nothing was received"
        ids = f"run {self.run_id}"
        if self.request_ids:
            ids += f", provider request {', '.join(self.request_ids)}"
        return f"stream cut by {what} {where}; not continued: {self.why}; {partial}; {ids}"


class StreamCutError(SeamstreamError):
    """A stream broke and was not made whole; nothing that was received is lost, it is in `turn`."""

    def __init__(
        self,
        message: str = "",
        *,
        turn: Turn | None = None,
        cause: InterruptCause | None = None,
        run_id: str = "",
        code: str = NOT_CONTINUABLE,
        retryable: bool = False,
        request_ids: tuple[str, ...] = (),
    ) -> None:
        super().__init__(message)
        self.turn = turn
        self.cause = cause
        self.run_id = run_id
        self.code = code
        self.retryable = retryable
        self.request_ids = request_ids

    @classmethod
    def from_report(cls, report: CutReport) -> Self:
        """The error whose message and attributes say what `report` says."""
        return cls(
            report.message(),
            turn=report.turn,
            cause=report.cause,
            run_id=report.run_id,
            code=report.code,
            retryable=report.retryable,
            request_ids=report.request_ids,
        )
