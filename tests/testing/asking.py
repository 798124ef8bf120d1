"""Requests to the test model: the first one, and the two ways of asking for the rest of its answer."""

from __future__ import annotations

import json
from typing import Any

from seamstream.testing import DeterministicModel, Dialect, Reply
from tests.support.turns import Answer, turn_of

QUESTION = {"role": "user", "content": "What is a reef?"}


def base(**more: Any) -> dict[str, Any]:
    return {"model": "m", "stream": True, "messages": [QUESTION], **more}


def prefill(prefix: str, **more: Any) -> dict[str, Any]:
    return base(messages=[QUESTION, {"role": "assistant", "content": prefix}], **more)


def prompt(prefix: str, quote: str, **more: Any) -> dict[str, Any]:
    asking = f"You were cut off. Begin with {json.dumps(quote)} and go on from there."
    turns = [{"role": "assistant", "content": prefix}, {"role": "user", "content": asking}]
    return base(messages=[QUESTION, *turns], **more)


def said(model: DeterministicModel, dialect: Dialect, body: dict[str, Any]) -> Answer:
    """What the vendor's own SDK reads from the reply."""
    reply = model.reply(dialect, body)
    assert reply.status == 200, reply.body
    return turn_of(dialect, reply.payload).answer


def refused(reply: Reply) -> str:
    """The message of a 400 `invalid_request_error`."""
    error = json.loads(reply.body)["error"]
    assert (reply.status, error["type"]) == (400, "invalid_request_error")
    return str(error["message"])
