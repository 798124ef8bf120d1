"""The conversations of all dialects that agents speak."""

from __future__ import annotations

from typing import Final

from ...errors import ConfigurationError
from ...recovery.continuation.profile import Profile
from .anthropic import AnthropicConversation
from .base import Conversation
from .bedrock import BedrockConversation
from .chat import ChatConversation
from .cohere import CohereConversation
from .gemini import GeminiConversation
from .ollama import OllamaConversation
from .responses import ResponsesConversation

_CONVERSATIONS: Final[dict[str, Conversation]] = {
    "openai-chat": ChatConversation(),
    "openai-responses": ResponsesConversation(),
    "anthropic": AnthropicConversation(),
    "gemini": GeminiConversation(),
    "bedrock": BedrockConversation(),
    "ollama": OllamaConversation(),
    "cohere": CohereConversation(),
}
_CHAT_WITH_REASONING: Final = ChatConversation(returns_reasoning=True)


def conversation_of(dialect: str, profile: Profile | None = None) -> Conversation:
    """How a provider's messages are written; ConfigurationError for a dialect that agents do not speak."""
    if dialect == "openai-chat" and profile is not None and profile.returns_reasoning:
        return _CHAT_WITH_REASONING
    try:
        return _CONVERSATIONS[dialect]
    except KeyError:
        known = ", ".join(_CONVERSATIONS)
        raise ConfigurationError(f"agents speak {known}, not {dialect!r}") from None
