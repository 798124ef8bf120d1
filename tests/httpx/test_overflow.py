"""A request for the rest is longer than the first one, so it may be the first that is too long."""

from __future__ import annotations

import json
from typing import Any

import pytest

import seamstream
from seamstream.testing import Dialect, Fault, FaultServer
from seamstream.testing.model import Reply
from tests.httpx.asking import AT_ONCE, REEFS, SPOKEN, Reader

SAID = {
    "OpenAI": {"message": "too long", "type": "invalid_request_error", "code": "context_length_exceeded"},
    "vLLM": {"message": "This model's maximum context length is 64 tokens.", "type": "BadRequestError"},
    "llama.cpp": {"message": "no", "type": "exceed_context_size_error", "n_prompt_tokens": 70, "n_ctx": 64},
}


class Small:
    """Has room for the question only."""

    def __init__(self, error: dict[str, Any]) -> None:
        self._body = json.dumps({"error": error}).encode()

    def reply(self, dialect: Dialect, body: dict[str, Any]) -> Reply:
        if len(body["messages"]) == 1:
            return SPOKEN.reply(dialect, body)
        return Reply(400, {"content-type": "application/json"}, body=self._body)


@pytest.mark.parametrize("provider", SAID)
async def test_the_partial_is_given_back_and_nothing_more_is_asked(reader: Reader, provider: str) -> None:
    async with FaultServer(Small(SAID[provider]), [Fault.fin(after_text=b"warm")]) as server:
        got = await reader.fetch(f"{server.url}/v1/chat/completions", AT_ONCE)
        assert [exchange.status for exchange in server.requests] == [200, 400]
    assert isinstance(got.error, seamstream.StreamCutError)
    assert got.error.code == "permanent_error"
    assert "context_overflow" in str(got.error)
    assert got.error.turn is not None
    assert got.error.turn.text
    assert REEFS.startswith(got.error.turn.text)
    assert b"[DONE]" not in got.body
