"""What a base request asks for, as far as it decides how its answer may be continued."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Dialect = Literal[
    "openai-chat",
    "openai-responses",
    "anthropic",
    "gemini",
    "gemini-interactions",
    "ollama",
    "bedrock",
    "cohere",
]

Strategy = Literal["resume", "prefill", "prefix-flag", "continue-final-message", "prompt"]
"""A way of asking for the rest."""


@dataclass(frozen=True, slots=True)
class RequestFacts:
    """Facts of a base request. One that was too large to be `retained` cannot be sent again."""

    dialect: Dialect
    retained: bool = True
    problem: str | None = None
    stream: bool = True
    model: str = ""
    choices: int = 1
    structured_output: bool = False
    logprobs: bool = False
    forced_tool: bool = False
    audio: bool = False
    kept_by_server: bool = False
    """The provider keeps the conversation, or the answer goes on at the provider without us."""
    resumable: bool = False
    """The provider was asked to go on with the answer even without its reader, and to keep its stream."""
    bare_prompt: bool = False
    """The model goes on in a text that has no turns."""
    tools_offered: bool = False
    thinking: bool = False
    thinking_budget_tokens: int = 0
    max_tokens: int | None = None
    stop_sequences: tuple[str, ...] = ()

    @property
    def unfit(self) -> str | None:
        """Why the rest of an answer could not be joined to its beginning; None when it could."""
        reasons = {
            "structured output was asked for": self.structured_output,
            "several choices were asked for": self.choices > 1,
            "logprobs were asked for": self.logprobs,
            "a tool call was forced": self.forced_tool,
            "audio was asked for": self.audio,
            "the provider keeps the conversation or runs it in the background": self.kept_by_server,
        }
        return self.problem or next((reason for reason, holds in reasons.items() if holds), None)
