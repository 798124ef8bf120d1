"""Input items of OpenAI Responses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..records import ToolInvocation, TurnRecord
from ..tools import Tool
from .base import Answered, Conversation, Message


class ResponsesConversation(Conversation):
    """OpenAI Responses, with the whole conversation in each request."""

    member = "input"

    def first(self, base: dict[str, Any]) -> list[Message]:
        given = base.get("input") or []
        return [{"role": "user", "content": given}] if isinstance(given, str) else list(given)

    def declared(self, tool: Tool) -> dict[str, Any]:
        return {
            "type": "function",
            "name": tool.name,
            "description": tool.description,
            "parameters": dict(tool.parameters),
        }

    def assistant(self, turn: TurnRecord, calls: Sequence[ToolInvocation]) -> list[Message]:
        said: list[Message] = [{"role": "assistant", "content": turn.text}] if turn.text.strip() else []
        for call in calls:
            named = {"call_id": call.call_id, "name": call.tool_name, "arguments": call.arguments}
            said.append({"type": "function_call", **named})
        return said

    def answers(self, answers: Sequence[Answered], hints: Sequence[str]) -> list[Message]:
        told: list[Message] = [
            {"type": "function_call_output", "call_id": each.call.call_id, "output": each.text}
            for each in answers
        ]
        return [*told, *({"role": "user", "content": hint} for hint in hints)]
