"""What providers' statuses and error codes mean, as tables.

A code is compared without its case and punctuation, because `InternalServerError`, `INTERNAL_SERVER_ERROR`
and `internal_server_error` are one code written by three servers.
"""

from __future__ import annotations

import enum
import re
from typing import Final


class FailureKind(enum.Enum):
    """What a failure means for the request that met it."""

    OVERLOADED = "overloaded"
    SERVER_ERROR = "server_error"
    RATE_LIMIT = "rate_limit"
    TIMEOUT = "timeout"
    CONFLICT = "conflict"
    NETWORK = "network"
    QUOTA = "quota"
    AUTH = "auth"
    UNKNOWN_MODEL = "unknown_model"
    OVERFLOW = "context_overflow"
    FILTER = "content_filter"
    INVALID_REQUEST = "invalid_request"
    PREFILL_REFUSED = "prefill_refused"
    UNEXPECTED = "unexpected_answer"


RETRYABLE: Final = frozenset(
    {
        FailureKind.OVERLOADED,
        FailureKind.SERVER_ERROR,
        FailureKind.RATE_LIMIT,
        FailureKind.TIMEOUT,
        FailureKind.CONFLICT,
        FailureKind.NETWORK,
    }
)


def normalise(code: str) -> str:
    """A code without case and punctuation."""
    return re.sub(r"[^a-z0-9]", "", code.lower())


def _table(rows: dict[FailureKind, str]) -> dict[str, FailureKind]:
    return {normalise(code): kind for kind, codes in rows.items() for code in codes.split()}


# These say more than the status they come with.
SPECIFIC_CODES: Final = _table(
    {
        FailureKind.QUOTA: """
            insufficient_quota billing_error billing_hard_limit_reached billing_not_active
            insufficient_credits payment_required ServiceQuotaExceededException
        """,
        FailureKind.OVERFLOW: """
            context_length_exceeded exceed_context_size_error max_tokens_exceeded token_limit_exceeded
            string_too_long
        """,
        FailureKind.FILTER: """
            content_filter content_policy_violation refusal bio_policy misalignment_policy_violation
            image_content_policy_violation
            ResponsibleAIPolicyViolation
        """,
        FailureKind.AUTH: """
            authentication_error authentication invalid_api_key permission_error permission_denied
            api_key_invalid api_key_service_blocked unauthenticated
        """,
        FailureKind.UNKNOWN_MODEL: "model_not_found not_found_error DeploymentNotFound",
        FailureKind.OVERLOADED: """
            overloaded_error provider_overloaded insufficient_system_resource ModelNotReadyException
        """,
        FailureKind.RATE_LIMIT: "rate_limit_error rate_limit_exceeded",
        FailureKind.TIMEOUT: "timeout_error vector_store_timeout",
    }
)

# These only stand in for a status that is missing.
GENERIC_CODES: Final = _table(
    {
        FailureKind.OVERLOADED: """
            unavailable unavailable_error service_unavailable ServiceUnavailableError overloaded
        """,
        FailureKind.SERVER_ERROR: """
            api_error server_error internal internal_error internal_server_error server provider_unavailable
            error abort
        """,
        FailureKind.TIMEOUT: "timeout deadline_exceeded",
        FailureKind.RATE_LIMIT: "too_many_requests resource_exhausted",
        FailureKind.CONFLICT: "conflict_error",
        FailureKind.UNKNOWN_MODEL: "not_found NotFoundError",
        FailureKind.INVALID_REQUEST: """
            invalid_request_error invalid_request invalid_argument invalid_prompt bad_request BadRequestError
            request_too_large payload_too_large precondition_failed unprocessable unprocessable_entity_error
            not_supported_error data_residency_mismatch
            invalid_image invalid_image_format invalid_base64_image invalid_image_url invalid_image_mode
            image_too_large image_too_small image_parse_error image_file_too_large image_file_not_found
            unsupported_image_media_type empty_image_file failed_to_download_image
        """,
    }
)

_KIND_OF_STATUS: Final[dict[int, FailureKind]] = {
    401: FailureKind.AUTH,
    402: FailureKind.QUOTA,
    403: FailureKind.AUTH,
    404: FailureKind.UNKNOWN_MODEL,
    408: FailureKind.TIMEOUT,
    409: FailureKind.CONFLICT,
    424: FailureKind.SERVER_ERROR,
    425: FailureKind.OVERLOADED,
    429: FailureKind.RATE_LIMIT,
    498: FailureKind.AUTH,
    499: FailureKind.SERVER_ERROR,
    501: FailureKind.INVALID_REQUEST,
    503: FailureKind.OVERLOADED,
    504: FailureKind.TIMEOUT,
    505: FailureKind.INVALID_REQUEST,
    524: FailureKind.TIMEOUT,
    529: FailureKind.OVERLOADED,
}


def kind_of_status(status: int) -> FailureKind:
    """What an HTTP status means when no code says more."""
    if status in _KIND_OF_STATUS:
        return _KIND_OF_STATUS[status]
    if 400 <= status <= 499:
        return FailureKind.INVALID_REQUEST
    return FailureKind.SERVER_ERROR if 500 <= status <= 599 else FailureKind.UNEXPECTED


# The HTTP status that an in-band error would have had.
STATUS_OF_CODE: Final = {
    normalise(code): status
    for code, status in {
        "overloaded_error": 529,
        "permission_error": 403,
        "permission_denied": 403,
        "insufficient_quota": 429,
        "request_too_large": 413,
        "payload_too_large": 413,
        "provider_unavailable": 502,
    }.items()
}
STATUS_OF_KIND: Final[dict[FailureKind, int]] = {
    FailureKind.OVERLOADED: 503,
    FailureKind.SERVER_ERROR: 500,
    FailureKind.RATE_LIMIT: 429,
    FailureKind.TIMEOUT: 504,
    FailureKind.CONFLICT: 409,
    FailureKind.NETWORK: 502,
    FailureKind.QUOTA: 402,
    FailureKind.AUTH: 401,
    FailureKind.UNKNOWN_MODEL: 404,
    FailureKind.OVERFLOW: 400,
    FailureKind.FILTER: 400,
    FailureKind.INVALID_REQUEST: 400,
    FailureKind.PREFILL_REFUSED: 400,
    FailureKind.UNEXPECTED: 500,
}

# Providers name these two only in the message of a client error.
OVERFLOW_WORDING: Final = re.compile(
    r"prompt is too long|maximum context length|too many tokens|input is too long"
    r"|exceeds? the (?:available )?context|exceeds? the maximum number of tokens",
    re.IGNORECASE,
)
PREFILL_WORDING: Final = re.compile(
    r"pre-?fill|must end with a user message|(?:ending|ends?) with an? (?:assistant|model)"
    r"|(?:trailing|final) assistant|continue_final_message|add_generation_prompt|['\"`]prefix['\"`]",
    re.IGNORECASE,
)
# TGI begins a stream before it looks at the request, so this is its only 422.
VALIDATION_WORDING: Final = re.compile(r"input validation error", re.IGNORECASE)
