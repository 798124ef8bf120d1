"""Causes of cuts."""

from __future__ import annotations

import pytest

from seamstream.recovery.causes import BodyEnd, cause_of_end, cause_of_error
from seamstream.types import (
    ConnectionReset,
    EarlyEof,
    GoAway,
    IdleStall,
    InBandError,
    InterruptCause,
    MalformedFrame,
    Provider5xxMidStream,
)


@pytest.mark.parametrize(
    ("end", "cause"),
    [
        (BodyEnd.CLEAN, EarlyEof()),
        (BodyEnd.RESET, ConnectionReset()),
        (BodyEnd.SHORT, ConnectionReset()),
        (BodyEnd.MALFORMED, MalformedFrame()),
        (BodyEnd.STALLED, IdleStall()),
        (BodyEnd.GOAWAY, GoAway()),
    ],
)
def test_ends_that_the_transport_noticed(end: BodyEnd, cause: InterruptCause) -> None:
    assert cause_of_end(end) == cause


def test_every_end_has_a_cause() -> None:
    assert all(isinstance(cause_of_end(end), InterruptCause) for end in BodyEnd)


@pytest.mark.parametrize(
    ("type_", "code", "status", "expected"),
    [
        ("overloaded_error", "", None, 529),
        ("overloaded_error", "", 200, 529),
        ("api_error", "", None, 500),
        ("timeout_error", "", None, 504),
        ("rate_limit_error", "", None, 429),
        ("invalid_request_error", "", None, 400),
        ("authentication_error", "", None, 401),
        ("permission_error", "", None, 403),
        ("billing_error", "", None, 402),
        ("not_found_error", "", None, 404),
        ("request_too_large", "", None, 413),
        ("server_error", "", None, 500),
        ("insufficient_quota", "insufficient_quota", None, 429),
        ("", "insufficient_system_resource", None, 503),
        ("", "abort", None, 500),
        ("", "502", None, 502),
        ("server_error", "503", None, 503),
        ("", "9999", None, 500),
        ("api_error", "", 503, 503),
        ("", "", None, 500),
    ],
)
def test_errors_that_the_provider_announced(type_: str, code: str, status: int | None, expected: int) -> None:
    assert cause_of_error(InBandError(type_, code, status, "", b"")) == Provider5xxMidStream(expected)
