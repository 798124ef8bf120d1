"""What each provider's failures mean: one row for every published status, code or sentence.

Bodies have the provider's own shape. `in_band` rows come inside a 200 stream, where no status helps.
"""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from seamstream._core import Splice
from seamstream.recovery.classify import classify_http, classify_in_band
from seamstream.recovery.error_codes import RETRYABLE, FailureKind
from seamstream.types import InBandError

K = FailureKind
HOPELESS = {K.QUOTA, K.AUTH, K.UNKNOWN_MODEL, K.OVERFLOW, K.FILTER, K.INVALID_REQUEST}


def openai(type_: str | None, code: Any = None, message: str = "no", **more: Any) -> dict[str, Any]:
    return {"error": {"message": message, "type": type_, "param": None, "code": code, **more}}


def anthropic(type_: str, message: str = "no") -> dict[str, Any]:
    return {"type": "error", "error": {"type": type_, "message": message}, "request_id": "req_1"}


def google(code: int, status: str, *details: dict[str, Any], message: str = "no") -> dict[str, Any]:
    return {"error": {"code": code, "message": message, "status": status, "details": list(details)}}


def openrouter(error_type: str, code: int) -> dict[str, Any]:
    return {"error": {"code": code, "message": "no", "metadata": {"error_type": error_type}}}


def flat(type_: str, code: Any, message: str = "no") -> dict[str, Any]:
    return {"object": "error", "message": message, "type": type_, "param": None, "code": code}


QUOTA = "type.googleapis.com/google.rpc.QuotaFailure"
PER_MINUTE = {"@type": QUOTA, "violations": [{"quotaId": "GenerateRequestsPerMinutePerProjectPerModel"}]}
AZURE_FILTER = {
    "code": "ResponsibleAIPolicyViolation",
    "content_filter_result": {"hate": {"filtered": True, "severity": "high"}},
}
REASONING_MISSING = "The `reasoning_content` in the thinking mode must be passed back to the API."
SPENT = "You have reached your specified API usage limits. You will regain access on 2026-12-01."

HTTP: list[tuple[str, int, Any, FailureKind]] = [
    # OpenAI
    ("openai", 400, openai("invalid_request_error", "context_length_exceeded"), K.OVERFLOW),
    ("openai", 400, openai("invalid_request_error", "unsupported_value"), K.INVALID_REQUEST),
    ("openai", 401, openai("invalid_request_error", "invalid_api_key"), K.AUTH),
    ("openai", 403, openai("invalid_request_error", "unsupported_country_region_territory"), K.AUTH),
    ("openai", 404, openai("invalid_request_error", "model_not_found"), K.UNKNOWN_MODEL),
    ("openai", 429, openai("requests", "rate_limit_exceeded"), K.RATE_LIMIT),
    ("openai", 429, openai("insufficient_quota", "insufficient_quota"), K.QUOTA),
    ("openai", 429, openai("insufficient_quota", "billing_hard_limit_reached"), K.QUOTA),
    ("openai", 500, openai("server_error"), K.SERVER_ERROR),
    ("openai", 502, openai("server_error"), K.SERVER_ERROR),
    ("openai", 503, openai("server_error"), K.OVERLOADED),
    ("openai", 503, openai("service_unavailable", None, "Slow Down"), K.OVERLOADED),
    # Azure
    ("azure", 400, openai(None, "content_filter", status=400, innererror=AZURE_FILTER), K.FILTER),
    ("azure", 401, openai(None, "401"), K.AUTH),
    ("azure", 403, openai(None, "403"), K.AUTH),
    ("azure", 404, openai(None, "DeploymentNotFound"), K.UNKNOWN_MODEL),
    ("azure", 408, openai(None, "Timeout"), K.TIMEOUT),
    ("azure", 429, openai(None, "429"), K.RATE_LIMIT),
    ("azure", 500, openai(None, "InternalServerError"), K.SERVER_ERROR),
    ("azure", 503, openai(None, "ServiceUnavailable"), K.OVERLOADED),
    # Anthropic
    ("anthropic", 400, anthropic("invalid_request_error"), K.INVALID_REQUEST),
    ("anthropic", 400, anthropic("invalid_request_error", SPENT), K.INVALID_REQUEST),
    (
        "anthropic",
        400,
        anthropic("invalid_request_error", "prompt is too long: 9 tokens > 8 maximum"),
        K.OVERFLOW,
    ),
    ("anthropic", 401, anthropic("authentication_error"), K.AUTH),
    ("anthropic", 402, anthropic("billing_error"), K.QUOTA),
    ("anthropic", 403, anthropic("permission_error"), K.AUTH),
    ("anthropic", 404, anthropic("not_found_error"), K.UNKNOWN_MODEL),
    ("anthropic", 409, anthropic("conflict_error"), K.CONFLICT),
    ("anthropic", 413, anthropic("request_too_large"), K.INVALID_REQUEST),
    ("anthropic", 500, anthropic("api_error"), K.SERVER_ERROR),
    ("anthropic", 504, anthropic("timeout_error"), K.TIMEOUT),
    ("anthropic", 529, anthropic("overloaded_error"), K.OVERLOADED),
    # Gemini
    ("gemini", 400, google(400, "INVALID_ARGUMENT"), K.INVALID_REQUEST),
    ("gemini", 400, google(400, "FAILED_PRECONDITION"), K.INVALID_REQUEST),
    ("gemini", 403, google(403, "PERMISSION_DENIED"), K.AUTH),
    ("gemini", 404, google(404, "NOT_FOUND"), K.UNKNOWN_MODEL),
    ("gemini", 429, google(429, "RESOURCE_EXHAUSTED"), K.RATE_LIMIT),
    ("gemini", 429, google(429, "RESOURCE_EXHAUSTED", PER_MINUTE), K.RATE_LIMIT),
    ("gemini", 500, google(500, "INTERNAL"), K.SERVER_ERROR),
    ("gemini", 503, google(503, "UNAVAILABLE"), K.OVERLOADED),
    ("gemini", 504, google(504, "DEADLINE_EXCEEDED"), K.TIMEOUT),
    ("gemini interactions", 400, {"error": {"code": "invalid_request", "message": "no"}}, K.INVALID_REQUEST),
    # Bedrock
    ("bedrock", 400, {"__type": "ValidationException", "message": "no"}, K.INVALID_REQUEST),
    ("bedrock", 400, {"message": "Input is too long for requested model."}, K.OVERFLOW),
    ("bedrock", 400, {"__type": "ServiceQuotaExceededException", "message": "no"}, K.QUOTA),
    ("bedrock", 403, {"__type": "AccessDeniedException", "message": "no"}, K.AUTH),
    ("bedrock", 404, {"__type": "ResourceNotFoundException", "message": "no"}, K.UNKNOWN_MODEL),
    ("bedrock", 408, {"__type": "ModelTimeoutException", "message": "no"}, K.TIMEOUT),
    ("bedrock", 424, {"__type": "ModelErrorException", "message": "no"}, K.SERVER_ERROR),
    ("bedrock", 429, {"__type": "ModelNotReadyException", "message": "no"}, K.OVERLOADED),
    ("bedrock", 429, {"__type": "ThrottlingException", "message": "no"}, K.RATE_LIMIT),
    ("bedrock", 500, {"__type": "InternalServerException", "message": "no"}, K.SERVER_ERROR),
    ("bedrock", 503, {"__type": "ServiceUnavailableException", "message": "no"}, K.OVERLOADED),
    # Ollama
    ("ollama", 400, {"error": "invalid options"}, K.INVALID_REQUEST),
    ("ollama", 401, {"error": "unauthorized"}, K.AUTH),
    ("ollama", 404, {"error": "model 'm' not found, try pulling it first"}, K.UNKNOWN_MODEL),
    ("ollama", 429, {"error": "too many"}, K.RATE_LIMIT),
    ("ollama", 499, {"error": "gone"}, K.SERVER_ERROR),
    ("ollama", 500, {"error": "runner has gone"}, K.SERVER_ERROR),
    ("ollama", 502, {"error": "cloud"}, K.SERVER_ERROR),
    ("ollama", 503, {"error": "server busy"}, K.OVERLOADED),
    # Cohere
    ("cohere", 400, {"message": "too many tokens: total of 9"}, K.OVERFLOW),
    ("cohere", 400, {"message": "invalid request"}, K.INVALID_REQUEST),
    ("cohere", 401, {"message": "no"}, K.AUTH),
    ("cohere", 402, {"message": "no"}, K.QUOTA),
    ("cohere", 403, {"message": "no"}, K.AUTH),
    ("cohere", 404, {"message": "no"}, K.UNKNOWN_MODEL),
    ("cohere", 422, {"message": "no"}, K.INVALID_REQUEST),
    ("cohere", 498, {"message": "no"}, K.AUTH),
    ("cohere", 429, {"message": "no"}, K.RATE_LIMIT),
    ("cohere", 499, {"message": "no"}, K.SERVER_ERROR),
    ("cohere", 500, {"message": "no"}, K.SERVER_ERROR),
    ("cohere", 501, {"message": "no"}, K.INVALID_REQUEST),
    ("cohere", 503, {"message": "no"}, K.OVERLOADED),
    ("cohere", 504, {"message": "no"}, K.TIMEOUT),
    # Mistral
    ("mistral", 400, flat("invalid_request_error", "3051"), K.INVALID_REQUEST),
    ("mistral", 401, {"detail": "Unauthorized"}, K.AUTH),
    ("mistral", 403, flat("forbidden", "1"), K.AUTH),
    ("mistral", 404, flat("not_found", "1"), K.UNKNOWN_MODEL),
    ("mistral", 422, {"detail": [{"loc": ["body", "model"], "msg": "field required"}]}, K.INVALID_REQUEST),
    ("mistral", 429, flat("rate_limited", "1300"), K.RATE_LIMIT),
    ("mistral", 500, flat("internal_server_error", "1000"), K.SERVER_ERROR),
    ("mistral", 502, b"<html>bad gateway</html>", K.SERVER_ERROR),
    ("mistral", 503, flat("unreachable_backend", "1100"), K.OVERLOADED),
    ("mistral", 504, b"", K.TIMEOUT),
    # DeepSeek
    ("deepseek", 400, openai("invalid_request_error", None, REASONING_MISSING), K.INVALID_REQUEST),
    ("deepseek", 401, openai("authentication_error", "invalid_request_error"), K.AUTH),
    ("deepseek", 402, openai("unknown_error", "invalid_request_error", "Insufficient Balance"), K.QUOTA),
    ("deepseek", 422, openai("invalid_request_error", "invalid_request_error"), K.INVALID_REQUEST),
    ("deepseek", 429, openai("rate_limit_error", None), K.RATE_LIMIT),
    ("deepseek", 500, openai("server_error"), K.SERVER_ERROR),
    ("deepseek", 503, openai("server_error"), K.OVERLOADED),
    # Servers that anybody runs
    (
        "vllm",
        400,
        openai("BadRequestError", 400, "This model's maximum context length is 8 tokens. However, you"),
        K.OVERFLOW,
    ),
    ("vllm", 400, openai("BadRequestError", 400), K.INVALID_REQUEST),
    ("vllm", 401, openai("Unauthorized", 401), K.AUTH),
    ("vllm", 404, openai("NotFoundError", 404), K.UNKNOWN_MODEL),
    ("vllm", 500, openai("InternalServerError", 500), K.SERVER_ERROR),
    ("vllm", 503, openai("ServiceUnavailableError", 503), K.OVERLOADED),
    ("sglang", 400, flat("BadRequestError", 400), K.INVALID_REQUEST),
    ("llama.cpp", 400, openai("exceed_context_size_error", 400, n_prompt_tokens=9, n_ctx=8), K.OVERFLOW),
    ("llama.cpp", 400, openai("invalid_request_error", 400), K.INVALID_REQUEST),
    ("llama.cpp", 401, openai("authentication_error", 401), K.AUTH),
    ("llama.cpp", 501, openai("not_supported_error", 501), K.INVALID_REQUEST),
    ("llama.cpp", 503, openai("unavailable_error", 503, "Loading model"), K.OVERLOADED),
    ("tgi", 422, {"error": "Input validation error", "error_type": "validation"}, K.INVALID_REQUEST),
    ("tgi", 424, {"error": "Request failed", "error_type": "generation"}, K.SERVER_ERROR),
    ("tgi", 429, {"error": "Model is overloaded", "error_type": "overloaded"}, K.RATE_LIMIT),
    ("tgi", 500, {"error": "Incomplete", "error_type": "incomplete_generation"}, K.SERVER_ERROR),
    # OpenRouter
    ("openrouter", 400, openrouter("context_length_exceeded", 400), K.OVERFLOW),
    ("openrouter", 400, openrouter("max_tokens_exceeded", 400), K.OVERFLOW),
    ("openrouter", 400, openrouter("token_limit_exceeded", 400), K.OVERFLOW),
    ("openrouter", 400, openrouter("string_too_long", 400), K.OVERFLOW),
    ("openrouter", 400, openrouter("invalid_request", 400), K.INVALID_REQUEST),
    ("openrouter", 400, openrouter("invalid_prompt", 400), K.INVALID_REQUEST),
    ("openrouter", 401, openrouter("authentication", 401), K.AUTH),
    ("openrouter", 402, openrouter("payment_required", 402), K.QUOTA),
    ("openrouter", 403, openrouter("permission_denied", 403), K.AUTH),
    ("openrouter", 403, openrouter("content_policy_violation", 403), K.FILTER),
    ("openrouter", 403, openrouter("refusal", 403), K.FILTER),
    ("openrouter", 404, openrouter("not_found", 404), K.UNKNOWN_MODEL),
    ("openrouter", 408, openrouter("unmapped", 408), K.TIMEOUT),
    ("openrouter", 412, openrouter("precondition_failed", 412), K.INVALID_REQUEST),
    ("openrouter", 413, openrouter("payload_too_large", 413), K.INVALID_REQUEST),
    ("openrouter", 422, openrouter("unprocessable", 422), K.INVALID_REQUEST),
    ("openrouter", 429, openrouter("rate_limit_exceeded", 429), K.RATE_LIMIT),
    ("openrouter", 500, openrouter("server", 500), K.SERVER_ERROR),
    ("openrouter", 502, openrouter("provider_unavailable", 502), K.SERVER_ERROR),
    ("openrouter", 503, openrouter("provider_overloaded", 503), K.OVERLOADED),
    ("openrouter", 529, openrouter("provider_overloaded", 529), K.OVERLOADED),
    ("openrouter", 504, openrouter("timeout", 504), K.TIMEOUT),
    ("openrouter", 524, openrouter("unmapped", 524), K.TIMEOUT),
]

IN_BAND: list[tuple[str, Any, FailureKind]] = [
    ("openai", openai("server_error"), K.SERVER_ERROR),
    ("openai", openai("insufficient_quota", "insufficient_quota"), K.QUOTA),
    ("vllm", openai("InternalServerError", 500), K.SERVER_ERROR),
    ("sglang", {"error": flat("INTERNAL_SERVER_ERROR", 500)}, K.SERVER_ERROR),
    ("llama.cpp", {"error": {"code": 500, "message": "no", "type": "server_error"}}, K.SERVER_ERROR),
    ("tgi", {"error": {"message": "Request failed", "http_status_code": 422}}, K.SERVER_ERROR),
    (
        "tgi",
        {"error": {"message": "Input validation error: `inputs` is empty", "http_status_code": 422}},
        K.INVALID_REQUEST,
    ),
    ("openrouter", openrouter("provider_unavailable", 502), K.SERVER_ERROR),
    ("openrouter", openrouter("provider_overloaded", 503), K.OVERLOADED),
    ("openrouter", openrouter("context_length_exceeded", 400), K.OVERFLOW),
    ("openrouter", openrouter("content_policy_violation", 403), K.FILTER),
    ("openrouter", openrouter("rate_limit_exceeded", 429), K.RATE_LIMIT),
    ("mistral", {"choices": [{"index": 0, "delta": {}, "finish_reason": "error"}]}, K.SERVER_ERROR),
    (
        "deepseek",
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "insufficient_system_resource"}]},
        K.OVERLOADED,
    ),
    ("sglang", {"choices": [{"index": 0, "delta": {}, "finish_reason": "abort"}]}, K.SERVER_ERROR),
]

REFUSED: list[tuple[str, Any]] = [
    (
        "anthropic",
        anthropic("invalid_request_error", "This model does not support assistant message prefill."),
    ),
    (
        "anthropic",
        anthropic("invalid_request_error", "You can't pre-fill responses when thinking is enabled"),
    ),
    (
        "anthropic",
        anthropic("invalid_request_error", "final assistant content cannot end with trailing whitespace"),
    ),
    (
        "gemini",
        google(400, "INVALID_ARGUMENT", message="Requests ending with a model turn are not supported."),
    ),
    ("llama.cpp", openai(None, 400, "Assistant response prefill is incompatible with enable_thinking.")),
    (
        "vllm",
        openai(
            "BadRequestError", 400, "Cannot set both `continue_final_message` and `add_generation_prompt`"
        ),
    ),
    (
        "openai",
        openai("invalid_request_error", None, "Unrecognized request argument: continue_final_message"),
    ),
    (
        "mistral",
        {"detail": [{"type": "extra_forbidden", "loc": ["body", "messages", 1, "assistant", "prefix"]}]},
    ),
]


@pytest.mark.parametrize(("provider", "status", "body", "kind"), HTTP)
def test_a_failed_request(provider: str, status: int, body: Any, kind: FailureKind) -> None:
    raw = body if isinstance(body, bytes) else orjson.dumps(body)
    headers = {"retry-after": "1"} if status == 429 else {}
    failure = classify_http(status, headers, raw, now=0.0)
    assert failure.kind is kind
    assert failure.retryable is (kind in RETRYABLE) is (kind not in HOPELESS)
    assert failure.forbids_requests is (kind in HOPELESS)


@pytest.mark.parametrize(("provider", "event", "kind"), IN_BAND)
def test_a_failure_inside_the_stream(provider: str, event: Any, kind: FailureKind) -> None:
    splice = Splice("openai-chat")
    splice.feed(b"data: " + orjson.dumps(event) + b"\n\n")
    assert splice.error is not None
    failure = classify_in_band(InBandError(*splice.error))
    assert failure.kind is kind
    assert failure.retryable is (kind in RETRYABLE)


@pytest.mark.parametrize(("provider", "body"), REFUSED)
def test_a_refused_way_of_asking(provider: str, body: Any) -> None:
    failure = classify_http(400, {}, orjson.dumps(body), now=0.0)
    assert failure.kind is K.PREFILL_REFUSED
    assert not failure.forbids_requests


@pytest.mark.parametrize(
    ("status", "name", "kind"),
    [
        (400, "ServiceQuotaExceededException", K.QUOTA),
        (400, "ServiceQuotaExceededException:http://internal.example/coral/", K.QUOTA),
        (400, "ValidationException:http://internal.example/coral/", K.INVALID_REQUEST),
        (429, "ModelNotReadyException", K.OVERLOADED),
        (429, "ThrottlingException", K.RATE_LIMIT),
    ],
)
def test_aws_names_its_exceptions_in_a_header(status: int, name: str, kind: FailureKind) -> None:
    body = b'{"message":"no"}'
    failure = classify_http(status, {"x-amzn-ErrorType": name}, body, now=0.0)
    assert (failure.kind, failure.code) == (kind, name.partition(":")[0])
    assert failure.retryable is (kind in RETRYABLE)
