"""How the answer so far is put behind a request's messages, in each dialect.

The caller's own list is never touched. When it already ends with an assistant turn (the caller's own
prefill), the answer so far goes into that turn: two assistant turns in a row are refused by some servers and
split by others.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import orjson

from ...types import Snapshot
from .request import Dialect

Message = dict[str, Any]


def spoken_text(snapshot: Snapshot) -> str:
    """The text to go on from. A refusal that stands alone is continued like text."""
    return snapshot.text if snapshot.text.strip() else snapshot.refusal


def conversation_of(dialect: Dialect, document: dict[str, Any]) -> tuple[str, list[Message]]:
    """The member that holds a request's messages, and they themselves; one text is one user message."""
    if dialect != "openai-responses":
        return "messages", document["messages"]
    given = document.get("input", [])
    return "input", [{"role": "user", "content": given}] if isinstance(given, str) else given


def with_assistant_turn(
    messages: Iterable[Message], dialect: Dialect, text: str, signed_thinking: Iterable[str]
) -> list[Message]:
    """The messages, ending with an assistant turn of signed thinking and `text`."""
    result = list(messages)
    blocks: list[Message] = (
        [orjson.loads(block) for block in signed_thinking] if dialect == "anthropic" else []
    )
    # Responses has messages that follow each other in one turn, and no prefill that could be gone on with.
    if result and result[-1].get("role") == "assistant" and dialect != "openai-responses":
        result[-1] = _extended(result[-1], text, blocks)
    else:
        result.append({"role": "assistant", "content": _content(blocks, text)})
    return result


def _content(blocks: list[Message], text: str) -> str | list[Message]:
    return [*blocks, {"type": "text", "text": text}] if blocks else text


def _extended(message: Message, text: str, blocks: list[Message]) -> Message:
    """The caller's own assistant turn with the answer behind it; a last text block is continued."""
    content = message.get("content")
    if content is None:
        return {**message, "content": _content(blocks, text)}
    if isinstance(content, str) and not blocks:
        return {**message, "content": content + text}
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
    if not blocks and parts and parts[-1].get("type") == "text":
        parts[-1] = {**parts[-1], "text": parts[-1].get("text", "") + text}
        return {**message, "content": parts}
    return {**message, "content": [*parts, *blocks, {"type": "text", "text": text}]}
