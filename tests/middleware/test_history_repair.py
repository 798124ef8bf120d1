"""A conversation goes on after a cut in shown thinking: the unsigned block does not come back."""

from __future__ import annotations

import json
from typing import Any

import aiohttp

from seamstream import RecoveryMiddleware, RecoveryPolicy
from seamstream.testing import Answer, DeterministicModel, Fault, FaultServer, Reasoning, Text

ANSWER = Answer((Reasoning(("Let me ", "weigh ", "both ", "sides.")), Text(("Both ", "are ", "fine."))))
QUESTION = {"role": "user", "content": "Which one?"}
BODY = {"model": "claude-test-4-5", "max_tokens": 4000, "stream": True, "messages": [QUESTION]}
THINKING = {"type": "enabled", "budget_tokens": 1024}


async def ask(session: aiohttp.ClientSession, url: str, body: dict[str, Any]) -> tuple[int, bytes]:
    async with session.post(url, json=body) as response:
        return response.status, await response.read()


def blocks_of(stream: bytes) -> list[dict[str, Any]]:
    """The content that a client keeps in its history."""
    blocks: dict[int, dict[str, Any]] = {}
    for line in stream.decode().splitlines():
        event = json.loads(line.removeprefix("data: ")) if line.startswith("data: ") else {}
        if event.get("type") == "content_block_start":
            blocks[event["index"]] = dict(event["content_block"])
        elif event.get("type") == "content_block_delta":
            for name in ("text", "thinking", "signature"):
                if name in event["delta"]:
                    block = blocks[event["index"]]
                    block[name] = block.get(name, "") + event["delta"][name]
    return list(blocks.values())


async def converse(policy: RecoveryPolicy) -> tuple[list[dict[str, Any]], int, list[dict[str, Any]]]:
    """A turn whose thinking is cut, then the next one; the history, its status, and what the server got."""
    script = [Fault.reset(after_events=4), Fault.none(), Fault.none()]
    async with (
        FaultServer(DeterministicModel(ANSWER), script) as server,
        aiohttp.ClientSession(middlewares=[RecoveryMiddleware(policy)]) as session,
    ):
        url = server.url_for("anthropic")
        _, stream = await ask(session, url, {**BODY, "thinking": THINKING})
        history = blocks_of(stream)
        messages = [QUESTION, {"role": "assistant", "content": history}, {"role": "user", "content": "Sure?"}]
        status, _ = await ask(session, url, {**BODY, "thinking": THINKING, "messages": messages})
        received = server.requests[-1].body["messages"][1]["content"]
    return history, status, received


async def test_the_unsigned_block_is_dropped_from_the_next_request() -> None:
    history, status, received = await converse(RecoveryPolicy())
    assert [block["type"] for block in history] == ["thinking", "thinking", "text"]
    assert not history[0]["signature"]
    assert status == 200
    assert received == history[1:]


async def test_without_the_repair_the_provider_refuses() -> None:
    _, status, _ = await converse(RecoveryPolicy(repair_history=False))
    assert status == 400
