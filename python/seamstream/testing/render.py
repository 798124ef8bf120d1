"""An answer as the events of a streamed reply, in either dialect."""

from __future__ import annotations

from .answer import Answer
from .render_anthropic import render_anthropic
from .render_chat import render_chat
from .render_options import Dialect, RenderOptions

_WRITERS = {"openai-chat": render_chat, "anthropic": render_anthropic}


def render(
    dialect: Dialect,
    answer: Answer,
    *,
    start: int = 0,
    options: RenderOptions | None = None,
) -> list[bytes]:
    """The SSE events of `answer` from character `start` of its text on, each with its blank line."""
    said = answer.after(start) if start else answer
    return _WRITERS[dialect](said, options or RenderOptions())
