"""Thinking that a cut left unsigned must not come back: a provider refuses a history that holds it.

Where shown thinking was cut, the reader's copy of the block has no signature, and a client that sends its
history back would be refused for ever. The process remembers digests of such blocks and drops exactly them
from later requests; nothing else of a request is touched.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, Final

import orjson

from .digests import digest

MAX_REMEMBERED: Final = 4096
_THINKING_MARK: Final = b'"thinking"'


class UnsignedThinking:
    """Digests of the unsigned blocks that this process left with its readers; the oldest are forgotten."""

    def __init__(self, limit: int = MAX_REMEMBERED) -> None:
        self._limit = limit
        self._digests = OrderedDict[str, None]()

    def __len__(self) -> int:
        return len(self._digests)

    def remember(self, thinking: str) -> None:
        """A block with this text left without a signature."""
        key = digest(thinking.encode())
        self._digests[key] = None
        self._digests.move_to_end(key)
        if len(self._digests) > self._limit:
            self._digests.popitem(last=False)

    def knows(self, block: Any) -> bool:
        """Is this content block one of them?"""
        if not isinstance(block, dict) or block.get("type") != "thinking" or block.get("signature"):
            return False
        thinking = block.get("thinking")
        return isinstance(thinking, str) and digest(thinking.encode()) in self._digests

    def cleaned(self, body: bytes) -> bytes | None:
        """The request without such blocks, or None when it holds none (or is no JSON of ours)."""
        if not self._digests or _THINKING_MARK not in body:
            return None
        try:
            document = orjson.loads(body)
        except orjson.JSONDecodeError:
            return None
        messages = document.get("messages") if isinstance(document, dict) else None
        if not isinstance(messages, list) or not sum(self._clean(message) for message in messages):
            return None
        return orjson.dumps(document)

    def _clean(self, message: Any) -> bool:
        """Drop known blocks from one message in place; a message is never left empty."""
        content = message.get("content") if isinstance(message, dict) else None
        if not isinstance(content, list) or message.get("role") != "assistant":
            return False
        kept = [block for block in content if not self.knows(block)]
        if not kept or len(kept) == len(content):
            return False
        message["content"] = kept
        return True
