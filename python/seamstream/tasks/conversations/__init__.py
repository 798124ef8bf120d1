"""A task's message log, as each dialect writes tools, an assistant turn and tool results."""

from .base import Answered, Conversation
from .registry import conversation_of

__all__ = ["Answered", "Conversation", "conversation_of"]
