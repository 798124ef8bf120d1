"""Messages of OpenAI Chat Completions and the servers that speak it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from ..records import ToolInvocation, TurnRecord
from ..tools import Tool
from .base import Answered, Conversation, Message


class ChatConversation(Conversation):
    """OpenAI Chat Completions, which report usage only if asked."""

    defaults: ClassVar[Mapping[str, Any]] = {"stream_options": {"include_usage": True}}

    def __init__(self, *, returns_reasoning: bool = False) -> None:
        self.returns_reasoning = returns_reasoning
        """The provider refuses a turn that called tools without what was thought before (DeepSeek)."""

    def declared(self, tool: Tool) -> dict[str, Any]:
        function = {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}
        return {"type": "function", "function": function}

    def assistant(self, turn: TurnRecord, calls: Sequence[ToolInvocation]) -> list[Message]:
        said = [
            {
                "id": call.call_id,
                "type": "function",
                "function": {"name": call.tool_name, "arguments": call.arguments},
            }
            for call in calls
        ]
        message: Message = {"role": "assistant", "content": turn.text or None, "tool_calls": said}
        if self.returns_reasoning and turn.reasoning:
            message["reasoning_content"] = turn.reasoning
        return [message]

    def answers(self, answers: Sequence[Answered], hints: Sequence[str]) -> list[Message]:
        told: list[Message] = [
            {"role": "tool", "tool_call_id": each.call.call_id, "content": each.text} for each in answers
        ]
        return [*told, *({"role": "user", "content": hint} for hint in hints)]
