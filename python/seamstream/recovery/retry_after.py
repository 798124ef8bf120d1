"""Every form in which a server says "come back later", read with the caller's `now`.

A value that is not exactly one of the known forms says nothing: guessing turned `-4` into decades elsewhere.
The wait is never shortened here; it is only bounded by a week, so that a broken clock gives a number one can
compare.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final

LONGEST_WAIT_S: Final = 7 * 86_400.0

# Reset headers carry seconds, durations or epoch times under one name; an epoch is told by its size.
_EPOCH_S_FROM: Final = 1e9
_EPOCH_MS_FROM: Final = 1e12

_NUMBER = re.compile(r"\d+(?:\.\d*)?|\.\d+", re.ASCII)
_DURATION_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|us|µs|ns|s|m|h|d)", re.ASCII)
_UNIT_S: Final = {
    "ns": 1e-9,
    "us": 1e-6,
    "µs": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "m": 60.0,
    "h": 3600.0,
    "d": 86_400.0,
}
_DATE = re.compile(r"(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*,? ", re.IGNORECASE)
_RESET = re.compile(r"x-ratelimit-reset(?:-[a-z]+)*|anthropic-ratelimit(?:-[a-z]+)+-reset")


@dataclass(frozen=True, slots=True)
class RetryHint:
    """What a server asked for. `wait_s` is None when it named none; `source` is the field it came from."""

    wait_s: float | None = None
    should_retry: bool | None = None
    source: str = ""


def read_retry_hint(headers: Mapping[str, str], body: Any = None, *, now: float) -> RetryHint:
    """The hint of a failed answer. `body` is its parsed JSON, if any; `now` is seconds since the epoch."""
    lowered = {name.lower(): value for name, value in headers.items()}
    should_retry = {"true": True, "false": False}.get(lowered.get("x-should-retry", "").strip().lower())
    for source, wait_s in _waits(lowered, body, now):
        if wait_s is not None:
            return RetryHint(min(wait_s, LONGEST_WAIT_S), should_retry, source)
    return RetryHint(None, should_retry)


def parse_retry_after(value: str, *, now: float) -> float | None:
    """A `retry-after` value: seconds, a duration, or a date. None when it is none of them."""
    value = value.strip()
    seconds = _number(value)
    if seconds is None:
        seconds = parse_duration(value)
    if seconds is None:
        seconds = _until(_parse_date(value), now)
    return seconds


def parse_duration(value: str) -> float | None:
    """A duration as Go and protobuf write it: `6m0s`, `120ms`, `12.345678901s`."""
    value = value.strip()
    parts = list(_DURATION_PART.finditer(value))
    if not parts or "".join(part.group() for part in parts) != value:
        return None
    return math.fsum(float(part[1]) * _UNIT_S[part[2]] for part in parts)


def _waits(headers: Mapping[str, str], body: Any, now: float) -> Iterator[tuple[str, float | None]]:
    """Candidates in the order of their authority."""
    if "retry-after-ms" in headers:
        milliseconds = _number(headers["retry-after-ms"].strip())
        yield "retry-after-ms", None if milliseconds is None else milliseconds / 1000.0
    if "retry-after" in headers:
        yield "retry-after", parse_retry_after(headers["retry-after"], now=now)
    yield "RetryInfo", _retry_info(body)
    yield "ratelimit-reset", _reset_wait(headers, now)
    yield "error.metadata.headers", _wait_in_body_headers(body, now)


def _wait_in_body_headers(body: Any, now: float) -> float | None:
    """A gateway puts the headers of the provider behind it into its error body."""
    quoted = _dig(body, "error", "metadata", "headers")
    if not isinstance(quoted, dict):
        return None
    headers = {str(name): str(value) for name, value in quoted.items()}
    return read_retry_hint(headers, now=now).wait_s


def _retry_info(body: Any) -> float | None:
    details = _dig(body, "error", "details")
    for detail in details if isinstance(details, list) else ():
        if isinstance(detail, dict) and str(detail.get("@type", "")).endswith("google.rpc.RetryInfo"):
            return parse_duration(str(detail.get("retryDelay", "")))
    return None


def _reset_wait(headers: Mapping[str, str], now: float) -> float | None:
    """The longest of the exhausted windows rules; when none is marked so, the shortest of all."""
    exhausted: list[float] = []
    others: list[float] = []
    for name, value in headers.items():
        match = _RESET.fullmatch(name)
        wait_s = _reset_value(value.strip(), now) if match else None
        if wait_s is None:
            continue
        remaining = headers.get(name.replace("reset", "remaining"), "").strip()
        (exhausted if _number(remaining) == 0.0 else others).append(wait_s)
    if exhausted:
        return max(exhausted)
    return min(others, default=None)


def _reset_value(value: str, now: float) -> float | None:
    number = _number(value)
    if number is None:
        duration = parse_duration(value)
        return duration if duration is not None else _until(_parse_date(value), now)
    if number >= _EPOCH_MS_FROM:
        return max(0.0, number / 1000.0 - now)
    if number >= _EPOCH_S_FROM:
        return max(0.0, number - now)
    return number


def _number(value: str) -> float | None:
    return float(value) if _NUMBER.fullmatch(value) else None


def _parse_date(value: str) -> datetime | None:
    try:
        if _DATE.match(value):
            return parsedate_to_datetime(value)
        if value[:1].isdigit() and "T" in value.upper():
            return datetime.fromisoformat(value)
    except (ValueError, OverflowError):
        pass
    return None


def _until(date: datetime | None, now: float) -> float | None:
    if date is None:
        return None
    if date.tzinfo is None:
        date = date.replace(tzinfo=UTC)
    return max(0.0, date.timestamp() - now)


def _dig(value: Any, *path: str) -> Any:
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value
