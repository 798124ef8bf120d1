"""Every form of "come back later", with values worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from seamstream.recovery.retry_after import (
    LONGEST_WAIT_S,
    RetryHint,
    parse_duration,
    parse_retry_after,
    read_retry_hint,
)

# Mon, 02 Mar 2026 10:00:00 GMT
NOW = 1_772_445_600.0


@pytest.mark.parametrize(
    ("value", "wait_s"),
    [
        ("7", 7.0),
        (" 7 ", 7.0),
        ("2.5", 2.5),
        (".5", 0.5),
        ("0", 0.0),
        ("60s", 60.0),
        ("1m30s", 90.0),
        ("Mon, 02 Mar 2026 10:00:45 GMT", 45.0),
        ("Monday, 02-Mar-26 10:00:45 GMT", 45.0),
        ("Mon Mar  2 10:00:45 2026", 45.0),
        ("2026-03-02T10:00:45Z", 45.0),
        ("2026-03-02T12:00:45+02:00", 45.0),
        ("Sun, 01 Mar 2026 10:00:00 GMT", 0.0),
    ],
)
def test_known_forms(value: str, wait_s: float) -> None:
    assert parse_retry_after(value, now=NOW) == pytest.approx(wait_s)


@pytest.mark.parametrize(
    "value",
    [
        "-4",
        "+4",
        "soon",
        "nan",
        "inf",
        "",
        "1e5",
        "1,5",
        "٣",
        "4 s",
        "s",
        "Mon, 99",
        "2026-99-99T00:00:00Z",
        "0x10",
    ],
)
def test_unknown_forms_say_nothing(value: str) -> None:
    assert parse_retry_after(value, now=NOW) is None


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("1s", 1.0),
        ("6m0s", 360.0),
        ("120ms", 0.12),
        ("1h2m3s", 3723.0),
        ("12.345678901s", 12.345678901),
        ("5us", 5e-6),
    ],
)
def test_durations(value: str, seconds: float) -> None:
    assert parse_duration(value) == pytest.approx(seconds)


@pytest.mark.parametrize("value", ["", "5", "ms", "1s!", "-1s", "1s 2s"])
def test_no_durations(value: str) -> None:
    assert parse_duration(value) is None


def hint(headers: dict[str, str], body: Any = None) -> RetryHint:
    return read_retry_hint(headers, body, now=NOW)


def test_milliseconds_win_over_seconds() -> None:
    assert hint({"Retry-After-Ms": "250", "Retry-After": "9"}) == RetryHint(0.25, None, "retry-after-ms")
    assert hint({"retry-after-ms": "33.5"}).wait_s == pytest.approx(0.0335)


def test_an_unreadable_value_leaves_the_word_to_the_next() -> None:
    assert hint({"retry-after-ms": "soon", "retry-after": "9"}).wait_s == 9.0
    assert hint({"retry-after": "soon"}) == RetryHint()


@pytest.mark.parametrize(("value", "expected"), [("true", True), ("False", False), ("maybe", None)])
def test_should_retry(value: str, expected: bool | None) -> None:
    assert hint({"X-Should-Retry": value}).should_retry is expected


def test_a_wait_is_bounded_by_a_week() -> None:
    assert hint({"retry-after": "9" * 30}).wait_s == LONGEST_WAIT_S == 604_800.0


def retry_info(delay: Any) -> dict[str, Any]:
    other = {"@type": "type.googleapis.com/google.rpc.Help"}
    info = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay}
    return {"error": {"code": 429, "details": ["odd", other, info]}}


def test_retry_info_in_the_body() -> None:
    found = hint({}, retry_info("12.345678901s"))
    assert found.wait_s == pytest.approx(12.35, abs=0.01)
    assert found.source == "RetryInfo"
    assert hint({}, retry_info(None)).wait_s is None


@pytest.mark.parametrize("body", [None, [], "text", {"error": "text"}, {"error": {"details": "text"}}])
def test_bodies_of_other_shapes_say_nothing(body: Any) -> None:
    assert hint({}, body) == RetryHint()


class TestResetHeaders:
    def test_a_go_duration(self) -> None:
        assert hint({"x-ratelimit-reset-requests": "6m0s"}).wait_s == 360.0

    def test_whole_seconds_and_no_answer(self) -> None:
        assert hint({"x-ratelimit-reset-tokens": "17"}).wait_s == 17.0
        assert hint({"x-ratelimit-reset-tokens": "-1"}) == RetryHint()

    def test_the_exhausted_window_rules(self) -> None:
        windows = {
            "x-ratelimit-reset-requests": "6m0s",
            "x-ratelimit-remaining-requests": "12",
            "x-ratelimit-reset-tokens": "2s",
            "x-ratelimit-remaining-tokens": "0",
        }
        assert hint(windows).wait_s == 2.0
        assert hint({**windows, "x-ratelimit-remaining-requests": "0"}).wait_s == 360.0

    def test_of_unmarked_windows_the_shortest_rules(self) -> None:
        assert hint({"x-ratelimit-reset-requests": "6m0s", "x-ratelimit-reset-tokens": "2s"}).wait_s == 2.0

    def test_times_of_anthropic(self) -> None:
        headers = {
            "anthropic-ratelimit-input-tokens-reset": "2026-03-02T10:00:30Z",
            "anthropic-ratelimit-input-tokens-remaining": "0",
            "anthropic-ratelimit-requests-reset": "2026-03-02T10:00:01Z",
            "anthropic-ratelimit-requests-remaining": "49",
        }
        assert hint(headers).wait_s == 30.0

    @pytest.mark.parametrize("value", ["1772445612", "1772445612000"])
    def test_an_epoch_in_seconds_or_milliseconds(self, value: str) -> None:
        assert hint({"X-RateLimit-Reset": value}).wait_s == 12.0

    def test_headers_quoted_in_the_body(self) -> None:
        body = {"error": {"code": 429, "metadata": {"headers": {"X-RateLimit-Reset": "1772445612000"}}}}
        assert hint({}, body).wait_s == 12.0
        assert hint({"retry-after": "3"}, body).wait_s == 3.0

    def test_other_rate_limit_headers_are_no_hint(self) -> None:
        assert hint({"x-ratelimit-limit": "60", "x-ratelimit-remaining": "0"}) == RetryHint()
