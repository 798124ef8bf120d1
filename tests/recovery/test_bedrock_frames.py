"""An AWS frame says itself whether it is an error: neither its name nor its payload decides that."""

from __future__ import annotations

from seamstream._core import Splice
from seamstream.recovery.classify import classify_in_band
from seamstream.recovery.error_codes import FailureKind
from seamstream.testing.render_bedrock import frame
from seamstream.types import InBandError

TEXT = frame("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "A reef "}})


def _error_after(raw: bytes) -> InBandError | None:
    splice = Splice("bedrock")
    splice.feed(TEXT + raw)
    return InBandError(*splice.error) if splice.error is not None else None


def test_an_unknown_event_of_any_payload_passes() -> None:
    splice = Splice("bedrock")
    odd = frame("somethingNew", [])
    assert splice.feed(TEXT + odd).endswith(odd)
    assert splice.error is None


def test_an_exception_of_any_name_is_an_error() -> None:
    error = _error_after(frame("somethingNew", {"message": "no"}, exception=True))
    assert error is not None
    assert (error.type, error.message) == ("somethingNew", "no")


def test_the_status_behind_a_model_stream_error_forbids_nothing() -> None:
    payload = {"message": "no", "originalStatusCode": 400, "originalMessage": "bad"}
    error = _error_after(frame("modelStreamErrorException", payload, exception=True))
    assert error is not None
    failure = classify_in_band(error)
    assert (failure.kind, failure.retryable, failure.status) == (FailureKind.SERVER_ERROR, True, 424)
