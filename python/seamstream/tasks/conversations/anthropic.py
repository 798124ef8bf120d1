"""Messages of Anthropic Messages: blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from ..records import ToolInvocation, TurnRecord
from ..tools import Tool
from .base import Answered, Conversation, Message, arguments_of


class AnthropicConversation(Conversation):
    """Anthropic Messages. Signed thinking stands first, or the provider refuses the turn."""

    def declared(self, tool: Tool) -> dict[str, Any]:
        return {"name": tool.name, "description": tool.description, "input_schema": dict(tool.parameters)}

    def assistant(self, turn: TurnRecord, calls: Sequence[ToolInvocation]) -> list[Message]:
        blocks: list[Message] = [orjson.loads(block) for block in turn.signed_thinking]
        if turn.text.strip():
            blocks.append({"type": "text", "text": turn.text})
        blocks += [
            {
                "type": "tool_use",
                "id": call.call_id,
                "name": call.tool_name,
                "input": arguments_of(call),
            }
            for call in calls
        ]
        return [{"role": "assistant", "content": blocks}]

    def answers(self, answers: Sequence[Answered], hints: Sequence[str]) -> list[Message]:
        blocks: list[Message] = [
            {
                "type": "tool_result",
                "tool_use_id": each.call.call_id,
                "content": each.text,
                "is_error": each.failed,
            }
            for each in answers
        ]
        return [{"role": "user", "content": [*blocks, *({"type": "text", "text": hint} for hint in hints)]}]
