"""Messages of Ollama's own chat, whose arguments are objects and whose results name their tool."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from ..records import ToolInvocation, TurnRecord
from .base import Answered, Message, arguments_of
from .chat import ChatConversation


class OllamaConversation(ChatConversation):
    """Ollama. Templates of models that think while they call tools want their thoughts back."""

    ids = False
    defaults: ClassVar[Mapping[str, Any]] = {}

    def assistant(self, turn: TurnRecord, calls: Sequence[ToolInvocation]) -> list[Message]:
        said = [{"function": {"name": call.tool_name, "arguments": arguments_of(call)}} for call in calls]
        thought = {"thinking": turn.reasoning} if turn.reasoning else {}
        return [{"role": "assistant", "content": turn.text, **thought, "tool_calls": said}]

    def answers(self, answers: Sequence[Answered], hints: Sequence[str]) -> list[Message]:
        told: list[Message] = [
            {"role": "tool", "tool_name": each.call.tool_name, "content": each.text} for each in answers
        ]
        return [*told, *({"role": "user", "content": hint} for hint in hints)]
