"""The exceptions by which a run that cannot be made whole ends."""

from __future__ import annotations

from ..effects import Opened
from ..errors import CutReport, FrameTooLarge, HttpFailureError, NotAnEventStream, StreamCutError
from ..recovery.classify import FailureClass, classify_http
from ..types import InterruptCause, Snapshot, Turn
from .requests import GiveUp, Setback
from .spec import RunSpec

FRAME_TOO_LARGE = "frame_too_large"
MALFORMED_FRAME = "malformed_frame"
_EXCERPT_CHARS = 200


def http_failure(opened: Opened, failure: FailureClass | None, request_id: str | None) -> HttpFailureError:
    """For a typed reader: the provider's final answer was no stream."""
    content_type = opened.headers.get("content-type", "")
    if 200 <= opened.status < 300:
        return NotAnEventStream.of(opened.status, content_type, opened.body)
    message = failure.message if failure is not None and failure.message else "the request failed"
    return HttpFailureError(
        f"status {opened.status}: {message}",
        status=opened.status,
        content_type=content_type,
        excerpt=opened.body[:_EXCERPT_CHARS].decode("utf-8", "replace"),
        kind=failure.kind.value if failure is not None else "",
        retryable=failure.retryable if failure is not None else False,
        retry_after_s=failure.retry_after_s if failure is not None else None,
        request_id=request_id,
    )


def refused_locally(body: bytes) -> HttpFailureError:
    """For a typed reader: its provider would misunderstand the request, so it was not sent."""
    headers = {"content-type": "application/json"}
    failure = classify_http(400, headers, body, now=0.0)
    return http_failure(Opened(400, headers, False, body), failure, None)


def frame_error(spec: RunSpec, snapshot: Snapshot) -> FrameTooLarge:
    """One event was larger than allowed."""
    limit = spec.policy.max_event_bytes
    message = f"an event is larger than max_event_bytes={limit}; run {spec.run_id}"
    return spec.frame_error(message, limit_bytes=limit, offset=snapshot.bytes_received)


def cut_error(
    spec: RunSpec,
    *,
    cut: Setback | None,
    last: Setback,
    step: GiveUp,
    attempt: int,
    snapshot: Snapshot | None,
    turn: Turn,
) -> StreamCutError:
    """The original stream failure; what failed after it, or what the transport raised, is its cause."""
    failure = last.failure
    report = CutReport(
        cause=_cause(cut, last),
        code=step.code,
        why=step.why,
        attempt=attempt,
        attempts_allowed=max(spec.policy.max_recoveries + 1, attempt),  # a refused way of asking is free
        characters=len(snapshot.text) if snapshot is not None else 0,
        run_id=spec.run_id,
        retryable=failure is None or failure.retryable,
        request_ids=turn.outcome.request_ids,
        turn=turn,
    )
    error = spec.cut_error.from_report(report)
    original = cut.error if cut is not None else None
    later = _later_error(last) if last is not cut else None
    error.__cause__ = later or original
    if later is not None and later.__context__ is None and original is not later:
        later.__context__ = original
    return error


def _cause(cut: Setback | None, last: Setback) -> InterruptCause | None:
    return cut.cause if cut is not None else last.cause


def _later_error(last: Setback) -> BaseException | None:
    if last.error is None and last.opened is not None:
        return http_failure(last.opened, last.failure, None)
    return last.error
