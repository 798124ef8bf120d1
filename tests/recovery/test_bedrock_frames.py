"""An AWS frame says itself whether it is an error: neither its name nor its payload decides that."""

from __future__ import annotations

import pytest

from seamstream._core import Splice
from seamstream.driver.guard import MUST_END
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


@pytest.mark.parametrize("order", ["usage last", "usage first", "no usage"])
@pytest.mark.parametrize("read", [1, 7, 4096])
def test_the_stop_is_the_end_wherever_the_usage_stands(order: str, read: int) -> None:
    """Some gateways tell the usage before the stop."""
    stop = frame("messageStop", {"stopReason": "end_turn"})
    usage = frame("metadata", {"usage": {"inputTokens": 5, "outputTokens": 2, "totalTokens": 7}})
    said = frame("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "Ebb."}})
    ends = {"usage last": [stop, usage], "usage first": [usage, stop], "no usage": [stop]}
    data = b"".join([frame("messageStart", {"role": "assistant"}), said, *ends[order]])
    splice = Splice("bedrock")
    out = b"".join(splice.feed(data[at : at + read]) for at in range(0, len(data), read))
    assert not splice.flags & MUST_END
    assert splice.done == (order != "no usage")
    assert out + splice.cut() + (b"" if splice.done else splice.finish()) == data
    assert splice.snapshot()["stop_reason"] == "end_turn"
    assert splice.snapshot()["usage"][:2] == ((5, 2) if order != "no usage" else (None, None))
