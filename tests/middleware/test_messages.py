"""What the error of a run that could not be saved says about its attempts."""

from __future__ import annotations

import re

import aiohttp
import pytest

from seamstream import RecoveryMiddleware, RecoveryPolicy
from seamstream.recovery.continuation.profiles import ProfileBook
from seamstream.testing import Answer, DeterministicModel, Fault, FaultServer, Text, tokens

QUESTION = {"role": "user", "content": "Tell me about buoys."}
BODY = {"model": "claude-test-4-5", "max_tokens": 400, "stream": True, "messages": [QUESTION]}


async def test_an_attempt_that_was_free_is_none_too_many() -> None:
    """A refused prefill is not charged to the budget, so it may not be counted against it either."""
    answer = Answer((Text(tokens("A buoy is moored where the water changes, and says so by its colour.")),))
    once = RecoveryMiddleware(RecoveryPolicy(max_recoveries=1), profiles=ProfileBook())
    model = DeterministicModel(answer, "refuser", accepts_prefill=False)
    async with (
        FaultServer(model, [Fault.reset(after_events=9)]) as server,
        aiohttp.ClientSession(middlewares=[once]) as session,
        session.post(server.url_for("anthropic"), json=BODY) as response,
    ):
        with pytest.raises(aiohttp.ClientPayloadError) as caught:
            await response.read()
        assert len(server.requests) == 3
    attempt, allowed = re.findall(r"attempt (\d+) of (\d+)", str(caught.value))[0]
    assert (int(attempt), int(allowed)) == (3, 3)
