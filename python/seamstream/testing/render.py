"""An answer as a reply in each dialect: the events of a stream, or a whole body."""

from __future__ import annotations

from typing import Any

from ..recovery.continuation.facts import Dialect
from .answer import Answer
from .render_anthropic import anthropic_body, render_anthropic
from .render_bedrock import bedrock_body, render_bedrock
from .render_chat import chat_body, render_chat
from .render_cohere import cohere_body, render_cohere
from .render_gemini import gemini_body, render_gemini
from .render_interactions import interactions_body, render_interactions
from .render_ollama import ollama_body, render_ollama
from .render_options import RenderOptions
from .render_responses import render_responses, responses_body

_WRITERS = {
    "openai-chat": (render_chat, chat_body),
    "openai-responses": (render_responses, responses_body),
    "anthropic": (render_anthropic, anthropic_body),
    "gemini": (render_gemini, gemini_body),
    "ollama": (render_ollama, ollama_body),
    "cohere": (render_cohere, cohere_body),
    "bedrock": (render_bedrock, bedrock_body),
    "gemini-interactions": (render_interactions, interactions_body),
}


def render(
    dialect: Dialect,
    answer: Answer,
    *,
    start: int = 0,
    options: RenderOptions | None = None,
) -> list[bytes]:
    """The SSE events of `answer` from character `start` of its text on, each with its blank line."""
    said = answer.after(start) if start else answer
    return _WRITERS[dialect][0](said, options or RenderOptions())


def render_whole(dialect: Dialect, answer: Answer, options: RenderOptions) -> dict[str, Any]:
    """The reply to a request that did not ask for a stream."""
    return _WRITERS[dialect][1](answer, options)
