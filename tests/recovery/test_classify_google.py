"""Failures as Google sends them: a bad key is a 400, a daily quota is permanent, waits are in the body."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from seamstream.recovery.classify import classify_http, classify_in_band
from seamstream.recovery.error_codes import RETRYABLE, FailureKind
from seamstream.types import InBandError

K = FailureKind
RPC = "type.googleapis.com/google.rpc."
BAD_KEY = {"@type": f"{RPC}ErrorInfo", "reason": "API_KEY_INVALID", "domain": "googleapis.com"}
WAIT = {"@type": f"{RPC}RetryInfo", "retryDelay": "37s"}
DAY = {"@type": f"{RPC}QuotaFailure", "violations": [{"quotaId": "GenerateRequestsPerDayPerProject"}]}
MINUTE = {"@type": f"{RPC}QuotaFailure", "violations": [{"quotaId": "GenerateRequestsPerMinute"}]}
NO_PREFILL = "Requests ending with a model turn are not supported."
TOO_LONG = "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."


def error(code: int, status: str, *details: Any, message: str = "no") -> dict[str, Any]:
    return {"error": {"code": code, "message": message, "status": status, "details": list(details)}}


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (error(400, "INVALID_ARGUMENT"), K.INVALID_REQUEST),
        (error(400, "INVALID_ARGUMENT", BAD_KEY), K.AUTH),
        (error(400, "INVALID_ARGUMENT", message=NO_PREFILL), K.PREFILL_REFUSED),
        (error(400, "INVALID_ARGUMENT", message=TOO_LONG), K.OVERFLOW),
        (error(403, "PERMISSION_DENIED"), K.AUTH),
        (error(404, "NOT_FOUND"), K.UNKNOWN_MODEL),
        (error(429, "RESOURCE_EXHAUSTED", MINUTE, WAIT), K.RATE_LIMIT),
        (error(429, "RESOURCE_EXHAUSTED", DAY, WAIT), K.QUOTA),
        (error(500, "INTERNAL"), K.SERVER_ERROR),
        (error(503, "UNAVAILABLE"), K.OVERLOADED),
        (error(504, "DEADLINE_EXCEEDED"), K.TIMEOUT),
    ],
)
def test_google_shapes(body: dict[str, Any], kind: FailureKind) -> None:
    status, raw = body["error"]["code"], orjson.dumps(body)
    alone = classify_http(status, {}, raw, now=0.0)
    in_array = classify_http(status, {}, orjson.dumps([body]), now=0.0)
    event = InBandError(body["error"]["status"], body["error"]["status"], status, "", b"data: " + raw)
    in_band = classify_in_band(event)
    assert {alone.kind, in_array.kind, in_band.kind} == {kind}
    assert alone.retryable == (kind in RETRYABLE)


def test_the_wait_in_the_body_is_kept() -> None:
    body = orjson.dumps([error(429, "RESOURCE_EXHAUSTED", MINUTE, WAIT)])
    assert classify_http(429, {}, body, now=0.0).retry_after_s == 37.0
