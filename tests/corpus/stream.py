"""What one stream of the corpus is: the request an SDK sends and the bytes a provider answers with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from seamstream.recovery.continuation.facts import Dialect

__all__ = ["CorpusStream", "Dialect", "choices_of", "pieces"]

Unrecoverable = Literal[
    "choices",
    "server tools",
    "structured output",
    "live call",
    "shown reasoning",
    "no turns",
    "kept by server",
]


@dataclass(frozen=True)
class CorpusStream:
    """`unrecoverable` says why a cut in this stream may end as an honest failure; None forbids it.

    `broken_end` is what its own provider sends instead of the rest, if not the dialect's usual error event.
    """

    name: str
    dialect: Dialect
    request: dict[str, Any]
    data: bytes
    unrecoverable: Unrecoverable | None = None
    broken_end: bytes = b""

    def __str__(self) -> str:
        return self.name


def choices_of(stream: CorpusStream) -> int:
    """How many choices the stream's request asks for."""
    config = stream.request.get("generationConfig") or {}
    return int(stream.request.get("n") or config.get("candidateCount") or 1)


def pieces(text: str, *sizes: int) -> Iterator[str]:
    """`text` in pieces whose lengths go round `sizes`, as a tokenizer would cut it."""
    start = turn = 0
    while start < len(text):
        size = sizes[turn % len(sizes)]
        yield text[start : start + size]
        start += size
        turn += 1
