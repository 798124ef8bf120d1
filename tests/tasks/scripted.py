"""A model for agents: a function of the tool results so far, played by the deterministic model."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from seamstream.recovery.continuation.facts import Dialect
from seamstream.testing import DeterministicModel
from seamstream.testing.answer import Answer, Text, Tool, tokens
from seamstream.testing.model import Reply

Script = Callable[[list[str]], Answer]
"""Given what tools have answered so far, in order, what the model says next."""


def says(text: str) -> Answer:
    return Answer((Text(tokens(text)),))


def calls(*tools: tuple[str, dict[str, Any]], text: str = "") -> Answer:
    """A turn that calls tools, each with its arguments in several pieces."""
    spoken = (Text(tokens(text)),) if text else ()
    made = []
    for at, (name, arguments) in enumerate(tools):
        written = json.dumps(arguments)
        made.append(Tool(name, (written[:5], written[5:]), f"call_{name}_{at}"))
    return Answer((*spoken, *made))


class ScriptedModel:
    """Replies by script, at the level of requests; `FaultServer` puts it on the network."""

    def __init__(self, script: Script) -> None:
        self._script = script

    def reply(self, dialect: Dialect, body: dict[str, Any]) -> Reply:
        return DeterministicModel(self._script(results_in(dialect, body))).reply(dialect, body)


def results_in(dialect: Dialect, body: dict[str, Any]) -> list[str]:
    """The tool results in a request, in order."""
    if dialect == "openai-responses":
        items = body["input"] if isinstance(body["input"], list) else []
        return [item["output"] for item in items if item.get("type") == "function_call_output"]
    if dialect == "gemini":
        return [
            part["functionResponse"]["response"]["output"]
            for part in _parts(body)
            if "functionResponse" in part
        ]
    if dialect == "bedrock":
        blocks = [block for message in body["messages"] for block in message["content"]]
        return [block["toolResult"]["content"][0]["text"] for block in blocks if "toolResult" in block]
    if dialect == "anthropic":
        contents = [
            message["content"] for message in body["messages"] if isinstance(message["content"], list)
        ]
        blocks = [block for content in contents for block in content]
        return [block["content"] for block in blocks if block["type"] == "tool_result"]
    return [message["content"] for message in body["messages"] if message["role"] == "tool"]


def _parts(body: dict[str, Any]) -> list[dict[str, Any]]:
    return [part for turn in body["contents"] for part in turn["parts"]]
