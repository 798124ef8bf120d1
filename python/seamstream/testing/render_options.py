"""How a reply is written on the wire, apart from what it says."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from .answer import Answer


@dataclass(frozen=True, slots=True)
class RenderOptions:
    """Envelope and habits of the provider. `others` are the answers of choices 1, 2, ... (chat)."""

    reply_id: str = "0001"
    model: str = "test-model"
    created: int = 1_760_000_000
    input_tokens: int = 12
    cache_read_tokens: int = 0
    include_usage: bool = False
    azure: bool = False
    """Chat as Azure sends it: prompt filter results first, content filter results after the finish reason."""
    ping_every: int = 0
    """A keep-alive before every so many events: `event: ping` in Anthropic, a comment elsewhere."""
    others: tuple[Answer, ...] = ()
    line_end: str = "\n"
    generates: bool = False
    """Ollama's lines as `/api/generate` writes them."""
    ascii_json: bool = False
    """Escape everything outside ASCII, so that an emoji is a surrogate pair of escapes."""


def sse(data: dict[str, Any] | str, options: RenderOptions, event: str | None = None) -> bytes:
    """One event with its blank line."""
    text = data if isinstance(data, str) else compact(data, ascii_only=options.ascii_json)
    lines = ([f"event: {event}"] if event else []) + [f"data: {text}", "", ""]
    return options.line_end.join(lines).encode()


def compact(data: Any, *, ascii_only: bool = False) -> str:
    """JSON as providers write it: without blanks."""
    return json.dumps(data, ensure_ascii=ascii_only, separators=(",", ":"))
