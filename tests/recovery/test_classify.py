"""Failures as providers send them: what they are, and whether the same request may be sent again."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from seamstream._core import Splice
from seamstream.recovery.classify import FailureClass, classify_http, classify_in_band, network_failure
from seamstream.recovery.error_codes import RETRYABLE, STATUS_OF_KIND, FailureKind
from seamstream.types import InBandError

K = FailureKind


def http(status: int, body: Any = None, headers: dict[str, str] | None = None) -> FailureClass:
    raw = body if isinstance(body, bytes) else orjson.dumps(body)
    return classify_http(status, headers or {}, raw, now=0.0)


def chat(type_: str | None = None, code: Any = None, message: str = "no") -> dict[str, Any]:
    return {"error": {"message": message, "type": type_, "param": None, "code": code}}


def anthropic(type_: str, message: str = "no") -> dict[str, Any]:
    return {"type": "error", "error": {"type": type_, "message": message}, "request_id": "req_1"}


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (400, chat("invalid_request_error", "context_length_exceeded"), K.OVERFLOW),
        (400, chat("invalid_request_error", "unsupported_value"), K.INVALID_REQUEST),
        (401, chat("invalid_request_error", "invalid_api_key"), K.AUTH),
        (403, chat("invalid_request_error", "unsupported_country"), K.AUTH),
        (404, chat("invalid_request_error", "model_not_found"), K.UNKNOWN_MODEL),
        (404, chat(None, "DeploymentNotFound"), K.UNKNOWN_MODEL),
        (429, chat("requests", "rate_limit_exceeded"), K.RATE_LIMIT),
        (429, chat("insufficient_quota", "insufficient_quota"), K.QUOTA),
        (500, chat("server_error"), K.SERVER_ERROR),
        (503, chat("server_error"), K.OVERLOADED),
        (400, chat(None, "content_filter"), K.FILTER),
        (400, {"error": {"code": "x", "innererror": {"code": "ResponsibleAIPolicyViolation"}}}, K.FILTER),
        (402, {"error": {"message": "Insufficient Balance", "type": "unknown_error"}}, K.QUOTA),
    ],
)
def test_openai_shapes(status: int, body: Any, kind: FailureKind) -> None:
    assert http(status, body).kind is kind


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("server_error", K.SERVER_ERROR),
        ("rate_limit_exceeded", K.RATE_LIMIT),
        ("insufficient_quota", K.QUOTA),
        ("vector_store_timeout", K.TIMEOUT),
        ("invalid_prompt", K.INVALID_REQUEST),
        ("image_too_large", K.INVALID_REQUEST),
        ("bio_policy", K.FILTER),
        ("image_content_policy_violation", K.FILTER),
    ],
)
@pytest.mark.parametrize("form", ["flat", "nested", "failed"])
def test_responses_errors_in_all_three_forms(code: str, kind: FailureKind, form: str) -> None:
    error = {"code": code, "message": "no", "param": None}
    event = {
        "flat": {"type": "error", "sequence_number": 3, **error},
        "nested": {"type": "error", "sequence_number": 3, "error": {"type": code, **error}},
        "failed": {
            "type": "response.failed",
            "response": {"id": "resp_1", "status": "failed", "error": error},
        },
    }[form]
    splice = Splice("openai-responses")
    splice.feed(b"data: " + orjson.dumps(event) + b"\n\n")
    assert splice.error is not None
    found = classify_in_band(InBandError(*splice.error))
    assert (found.kind, found.code, found.message) == (kind, code, "no")


@pytest.mark.parametrize(
    ("status", "type_", "kind"),
    [
        (400, "invalid_request_error", K.INVALID_REQUEST),
        (401, "authentication_error", K.AUTH),
        (402, "billing_error", K.QUOTA),
        (403, "permission_error", K.AUTH),
        (404, "not_found_error", K.UNKNOWN_MODEL),
        (409, "conflict_error", K.CONFLICT),
        (413, "request_too_large", K.INVALID_REQUEST),
        (500, "api_error", K.SERVER_ERROR),
        (504, "timeout_error", K.TIMEOUT),
        (529, "overloaded_error", K.OVERLOADED),
    ],
)
def test_anthropic_shapes(status: int, type_: str, kind: FailureKind) -> None:
    failure = http(status, anthropic(type_))
    assert failure.kind is kind
    assert failure.code == type_
    assert failure.retryable is (kind in {K.CONFLICT, K.SERVER_ERROR, K.TIMEOUT, K.OVERLOADED})


def test_an_anthropic_rate_limit_is_transient_only_with_a_hint() -> None:
    body = anthropic("rate_limit_error")
    assert http(429, body, {"retry-after": "12"}) == FailureClass(
        K.RATE_LIMIT, True, 12.0, "rate_limit_error", "no", 429
    )
    assert http(429, body).kind is K.QUOTA
    assert http(429, body, {"x-should-retry": "true"}).retryable
    assert http(429, chat("tokens", "rate_limit_exceeded")).retryable


def test_a_code_in_the_details_is_the_most_exact() -> None:
    error = {"type": "invalid_request_error", "message": "no", "details": {"error_code": "billing_error"}}
    assert http(400, {"type": "error", "error": error}).kind is K.QUOTA


@pytest.mark.parametrize(
    ("error_type", "status", "kind"),
    [
        ("context_length_exceeded", 400, K.OVERFLOW),
        ("payment_required", 402, K.QUOTA),
        ("content_policy_violation", 403, K.FILTER),
        ("provider_overloaded", 503, K.OVERLOADED),
        ("provider_unavailable", 502, K.SERVER_ERROR),
        ("unmapped", 524, K.TIMEOUT),
    ],
)
def test_error_types_in_metadata(error_type: str, status: int, kind: FailureKind) -> None:
    body = {"error": {"code": status, "message": "no", "metadata": {"error_type": error_type}}}
    assert http(status, body).kind is kind


@pytest.mark.parametrize(
    "message",
    [
        "prompt is too long: 210000 tokens > 200000 maximum",
        "This model's maximum context length is 8192 tokens. However, you requested 9000",
        "too many tokens: total of 9000",
        "Input is too long for requested model.",
        "the request exceeds the available context size",
    ],
)
def test_an_overflow_is_known_by_its_wording(message: str) -> None:
    assert http(400, anthropic("invalid_request_error", message)).kind is K.OVERFLOW


@pytest.mark.parametrize(
    "message",
    [
        "This model does not support assistant message prefill. It must end with a user message.",
        "Prefilling assistant messages is not supported for this model.",
        "You can't pre-fill responses when thinking is enabled",
        "Assistant response prefill is incompatible with enable_thinking.",
        "Requests ending with a model turn are not supported.",
        "messages: final assistant content cannot end with trailing whitespace",
    ],
)
def test_a_refused_prefill_is_known_by_its_wording(message: str) -> None:
    failure = http(400, anthropic("invalid_request_error", message))
    assert failure.kind is K.PREFILL_REFUSED
    assert not failure.retryable
    assert not failure.forbids_requests


def test_wording_counts_only_in_client_errors() -> None:
    assert (
        http(500, chat("server_error", message="prefill worker: prompt is too long")).kind is K.SERVER_ERROR
    )


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (
            400,
            {"object": "error", "message": "bad", "type": "BadRequestError", "code": 400},
            K.INVALID_REQUEST,
        ),
        (
            503,
            {"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}},
            K.OVERLOADED,
        ),
        (400, {"error": {"code": 400, "type": "exceed_context_size_error", "n_ctx": 512}}, K.OVERFLOW),
        (404, {"error": "model 'x' not found, try pulling it first"}, K.UNKNOWN_MODEL),
        (422, {"detail": [{"loc": ["body"], "msg": "field required"}]}, K.INVALID_REQUEST),
        (502, b"<html><h1>502 Bad Gateway</h1></html>", K.SERVER_ERROR),
        (503, b"", K.OVERLOADED),
        (418, [], K.INVALID_REQUEST),
        (507, None, K.SERVER_ERROR),
        (501, None, K.INVALID_REQUEST),
        (302, None, K.UNEXPECTED),
        (200, None, K.UNEXPECTED),
    ],
)
def test_bodies_of_other_servers_and_of_none(status: int, body: Any, kind: FailureKind) -> None:
    assert http(status, body).kind is kind


@pytest.mark.parametrize(
    ("status", "message", "kind"),
    [
        (400, "too many tokens: total of 9000", K.OVERFLOW),
        (400, "invalid request: message must be at least 1 token long", K.INVALID_REQUEST),
        (401, "invalid api token", K.AUTH),
        (402, "Please add or update your payment method", K.QUOTA),
        (403, "forbidden", K.AUTH),
        (404, "model 'command-x' not found", K.UNKNOWN_MODEL),
        (422, "unprocessable entity", K.INVALID_REQUEST),
        (429, "too many requests", K.RATE_LIMIT),
        (498, "invalid token", K.AUTH),
        (499, "request cancelled", K.SERVER_ERROR),
        (500, "internal server error", K.SERVER_ERROR),
        (501, "not implemented", K.INVALID_REQUEST),
        (503, "service unavailable", K.OVERLOADED),
        (504, "gateway timeout", K.TIMEOUT),
    ],
)
def test_cohere_says_only_a_message(status: int, message: str, kind: FailureKind) -> None:
    failure = http(status, {"id": "err_1", "message": message})
    assert (failure.kind, failure.message) == (kind, message)
    assert failure.retryable is (kind in RETRYABLE)


@pytest.mark.parametrize(
    ("status", "message", "kind"),
    [
        (400, "model is required", K.INVALID_REQUEST),
        (401, "unauthorized", K.AUTH),
        (404, "model 'harbour:4b' not found, try pulling it first", K.UNKNOWN_MODEL),
        (429, "too many concurrent requests", K.RATE_LIMIT),
        (499, "client closed request", K.SERVER_ERROR),
        (500, "llama runner process has terminated", K.SERVER_ERROR),
        (502, "upstream unreachable", K.SERVER_ERROR),
        (503, "server busy, maximum pending requests exceeded", K.OVERLOADED),
    ],
)
def test_ollama_says_only_a_string(status: int, message: str, kind: FailureKind) -> None:
    failure = http(status, {"error": message})
    assert (failure.kind, failure.message) == (kind, message)
    assert failure.retryable is (kind in RETRYABLE)


class TestShouldRetry:
    def test_it_overrides_the_status(self) -> None:
        assert not http(503, chat("server_error"), {"x-should-retry": "false"}).retryable
        assert http(400, chat("invalid_request_error"), {"x-should-retry": "true"}).retryable

    @pytest.mark.parametrize("code", ["insufficient_quota", "content_filter", "invalid_api_key"])
    def test_it_cannot_heal_a_refusal(self, code: str) -> None:
        assert not http(429, chat(code, code), {"x-should-retry": "true"}).retryable


def in_band(type_: str = "", code: str = "", status: int | None = None, raw: bytes = b"") -> InBandError:
    return InBandError(type_, code, status, "no", raw)


def event(document: Any, name: bytes = b"") -> bytes:
    return name + b"data: " + orjson.dumps(document) + b"\n\n"


class TestInBand:
    @pytest.mark.parametrize(
        ("type_", "kind"),
        [
            ("overloaded_error", K.OVERLOADED),
            ("api_error", K.SERVER_ERROR),
            ("rate_limit_error", K.RATE_LIMIT),
            ("timeout_error", K.TIMEOUT),
            ("invalid_request_error", K.INVALID_REQUEST),
            ("permission_error", K.AUTH),
        ],
    )
    def test_anthropic(self, type_: str, kind: FailureKind) -> None:
        failure = classify_in_band(in_band(type_, raw=event(anthropic(type_), b"event: error\n")))
        assert failure.kind is kind
        assert failure.retryable is (kind in RETRYABLE)
        assert failure.message == "no"

    def test_a_numeric_code_stands_for_the_status(self) -> None:
        body = {"error": {"message": "bad field", "type": "invalid_request", "code": 400}}
        failure = classify_in_band(in_band("invalid_request", "400", raw=event(body)))
        assert (failure.kind, failure.retryable, failure.status) == (K.INVALID_REQUEST, False, 400)
        assert classify_in_band(in_band("InternalServerError", "500")).kind is K.SERVER_ERROR

    @pytest.mark.parametrize("word", ["error", "abort", "insufficient_system_resource"])
    def test_an_abnormal_stop_is_transient(self, word: str) -> None:
        assert classify_in_band(in_band(code=word)).retryable

    def test_what_nobody_knows_is_a_server_error(self) -> None:
        assert classify_in_band(in_band("brand_new_error")).kind is K.SERVER_ERROR

    def test_the_status_of_the_response_says_nothing(self) -> None:
        assert classify_in_band(in_band("overloaded_error", status=200)).status is None

    def test_quota_in_the_stream_is_permanent(self) -> None:
        failure = classify_in_band(in_band("insufficient_quota", "insufficient_quota", 429))
        assert failure.kind is K.QUOTA
        assert failure.forbids_requests

    def test_a_hint_in_the_event_is_read(self) -> None:
        headers = {"X-RateLimit-Reset": "1000000030"}
        body = {"error": {"code": 429, "message": "no", "metadata": {"headers": headers}}}
        assert classify_in_band(in_band(raw=event(body)), now=1_000_000_000.0).retry_after_s == 30.0

    def test_an_event_over_several_data_lines(self) -> None:
        raw = b'event: error\r\ndata: {"error":\r\ndata: {"type": "overloaded_error"}}\r\n\r\n'
        assert classify_in_band(in_band(raw=raw)).kind is K.OVERLOADED

    def test_raw_json_without_a_frame(self) -> None:
        assert classify_in_band(in_band(raw=b'{"error":{"type":"billing_error"}}')).kind is K.QUOTA


def test_no_answer_at_all() -> None:
    assert network_failure("refused").retryable
    assert network_failure("certificate", retryable=False).forbids_requests
    assert len(network_failure("x" * 9000).message) == 500


def test_every_kind_has_a_status() -> None:
    assert set(STATUS_OF_KIND) == set(FailureKind)
