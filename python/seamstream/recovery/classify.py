"""What a failed answer means: may the same request be sent again, when, and if not, why not.

Decisions rest on codes and statuses, never on words, with exceptions that providers force on us: an overlong
prompt and a refused prefill are named only in the message of a 400, and TGI's refusal only inside a stream.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson

from ..types import InBandError
from .error_codes import (
    GENERIC_CODES,
    OVERFLOW_WORDING,
    PREFILL_WORDING,
    RETRYABLE,
    SPECIFIC_CODES,
    VALIDATION_WORDING,
    FailureKind,
    kind_of_status,
    normalise,
)
from .retry_after import RetryHint, read_retry_hint

MAX_MESSAGE_CHARS: Final = 500

# `x-should-retry: true` cannot heal these: the same request meets the same refusal.
_REFUSALS: Final = frozenset(
    {
        FailureKind.QUOTA,
        FailureKind.AUTH,
        FailureKind.UNKNOWN_MODEL,
        FailureKind.OVERFLOW,
        FailureKind.FILTER,
        FailureKind.PREFILL_REFUSED,
    }
)


@dataclass(frozen=True, slots=True)
class FailureClass:
    """A failure, classified. `retry_after_s` is the server's wish; None when it has none."""

    kind: FailureKind
    retryable: bool
    retry_after_s: float | None = None
    code: str = ""
    message: str = ""
    status: int | None = None

    @property
    def forbids_requests(self) -> bool:
        """No request of this run can succeed any more. A refused prefill forbids only that way of asking."""
        return not self.retryable and self.kind is not FailureKind.PREFILL_REFUSED


def classify_http(status: int, headers: Mapping[str, str], body: bytes, *, now: float) -> FailureClass:
    """Classify an answer that is no stream: an error status with whatever body it has."""
    document = _parse(body)
    facts = _ErrorFacts.of(document, named=_named_in(headers))
    hint = read_retry_hint(headers, document, now=now)
    kind = _kind(facts, status)
    if kind is FailureKind.RATE_LIMIT and facts.anthropic_shape and hint == RetryHint():
        # Anthropic names a wait whenever waiting helps; a spend cap comes without one and stays.
        kind = FailureKind.QUOTA
    return _failure(kind, hint, facts, status)


def classify_in_band(error: InBandError, *, now: float = 0.0) -> FailureClass:
    """Classify an error that came inside a 200 stream. `now` matters for hints that are points in time."""
    document = _parse(_data_of(error.raw))
    facts = _ErrorFacts.of(document, error)
    status = error.status if error.status is not None and error.status >= 400 else facts.numeric_code
    kind = _kind(facts, status)
    return _failure(kind, read_retry_hint({}, document, now=now), facts, status)


def network_failure(message: str, *, retryable: bool = True) -> FailureClass:
    """A request that got no answer at all. A bad certificate or a bad URL is not retryable."""
    return FailureClass(FailureKind.NETWORK, retryable, message=message[:MAX_MESSAGE_CHARS])


@dataclass(frozen=True, slots=True)
class _ErrorFacts:
    """What an error document says, in whatever shape it came."""

    codes: tuple[str, ...] = ()
    message: str = ""
    numeric_code: int | None = None
    anthropic_shape: bool = False
    daily_quota: bool = False

    @classmethod
    def of(cls, document: Any, known: InBandError | None = None, named: str = "") -> _ErrorFacts:
        error = _error_object(document)
        codes = tuple(dict.fromkeys((*filter(None, (named,)), *_codes(error, known))))
        message = str(error.get("message") or (known.message if known else "") or error.get("detail") or "")
        numbers = [int(code) for code in codes if code.isdecimal() and 400 <= int(code) <= 599]
        anthropic = isinstance(document, dict) and document.get("type") == "error"
        number = numbers[0] if numbers else None
        return cls(codes, message[:MAX_MESSAGE_CHARS], number, anthropic, _is_daily_quota(error))


def _named_in(headers: Mapping[str, str]) -> str:
    """The exception that AWS names in a header, where the body holds a message only; a URI may follow it."""
    value = next((value for name, value in headers.items() if name.lower() == "x-amzn-errortype"), "")
    return value.partition(":")[0].strip()


def _error_object(document: Any) -> dict[str, Any]:
    """What holds code and message: `error` (of a failed response too), the document, or a string."""
    if not isinstance(document, dict):
        return {}
    if isinstance(document.get("response"), dict):
        document = document["response"]
    error = document.get("error", document)
    if isinstance(error, dict):
        return error
    return {"message": error} if isinstance(error, str) else document


def _codes(error: Mapping[str, Any], known: InBandError | None) -> Iterator[str]:
    """Every code of an error object, the most exact first."""
    yield from (detail["reason"] for detail in _details(error) if isinstance(detail.get("reason"), str))
    for path in (
        ("details", "error_code"),
        ("metadata", "error_type"),
        ("innererror", "code"),
        ("code",),
        ("type",),
        ("status",),
        ("__type",),
    ):
        value: Any = error
        for key in path:
            value = value.get(key) if isinstance(value, Mapping) else None
        if isinstance(value, str | int) and not isinstance(value, bool):
            yield str(value)
    for code in (known.code, known.type) if known else ():
        if code:
            yield code


def _details(error: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Google's list of details: a reason, a wait, the quotas that were passed."""
    details = error.get("details")
    return [detail for detail in details if isinstance(detail, dict)] if isinstance(details, list) else []


def _is_daily_quota(error: Mapping[str, Any]) -> bool:
    """Is a quota passed that no wait of ours can outlast?"""
    violations = [each for detail in _details(error) for each in detail.get("violations") or ()]
    return any(isinstance(each, dict) and "PerDay" in str(each.get("quotaId", "")) for each in violations)


def _kind(facts: _ErrorFacts, status: int | None) -> FailureKind:
    if facts.daily_quota:
        return FailureKind.QUOTA
    words = [normalise(code) for code in facts.codes]
    for word in words:
        if word in SPECIFIC_CODES:
            return SPECIFIC_CODES[word]
    if status in (None, 400, 413, 422):
        if OVERFLOW_WORDING.search(facts.message):
            return FailureKind.OVERFLOW
        if PREFILL_WORDING.search(facts.message):
            return FailureKind.PREFILL_REFUSED
    if status is not None:
        return kind_of_status(status)
    if VALIDATION_WORDING.match(facts.message):
        return FailureKind.INVALID_REQUEST
    return next((GENERIC_CODES[word] for word in words if word in GENERIC_CODES), FailureKind.SERVER_ERROR)


def _failure(kind: FailureKind, hint: RetryHint, facts: _ErrorFacts, status: int | None) -> FailureClass:
    retryable = kind in RETRYABLE
    if hint.should_retry is not None and kind not in _REFUSALS:
        retryable = hint.should_retry
    code = next((code for code in facts.codes if not code.isdecimal()), "")
    return FailureClass(kind, retryable, hint.wait_s, code, facts.message, status)


def _parse(body: bytes) -> Any:
    """The document; Google puts the error of an answer that was to be an array into an array."""
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    return document[0] if isinstance(document, list) and document else document


def _data_of(raw: bytes) -> bytes:
    """The data of an event as received; a line that is no event stays what it is."""
    lines = raw.splitlines()
    data = [line[5:].removeprefix(b" ") for line in lines if line.startswith(b"data:")]
    return b"\n".join(data) if data else raw
