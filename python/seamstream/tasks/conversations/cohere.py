"""Messages of Cohere's v2 Chat: those of chat, with what the model planned beside its calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from ..records import ToolInvocation, TurnRecord
from .base import Message
from .chat import ChatConversation


class CohereConversation(ChatConversation):
    """Cohere. A plan is read as reasoning, and goes back as a plan."""

    defaults: ClassVar[Mapping[str, Any]] = {}

    def assistant(self, turn: TurnRecord, calls: Sequence[ToolInvocation]) -> list[Message]:
        [message] = super().assistant(turn, calls)
        if not turn.text:
            del message["content"]
        return [{**message, "tool_plan": turn.reasoning} if turn.reasoning else message]
