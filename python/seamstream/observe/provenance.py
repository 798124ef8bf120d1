"""Which attempt each character of a turn's text came from."""

from __future__ import annotations

from dataclasses import dataclass

from ..types import SeamRecord


@dataclass(frozen=True, slots=True)
class Span:
    """Characters `start` up to `end` of the text came from attempt `attempt`."""

    start: int
    end: int
    attempt: int


def provenance(text_chars: int, seams: tuple[SeamRecord, ...], *, first_attempt: int = 1) -> tuple[Span, ...]:
    """The spans of a text of that length; `first_attempt` is the one that the text begins with."""
    spans: list[Span] = []
    start, attempt = 0, first_attempt
    for seam in seams:
        if seam.offset > start:
            spans.append(Span(start, seam.offset, attempt))
        start, attempt = max(start, seam.offset), seam.attempt
    if text_chars > start:
        spans.append(Span(start, text_chars, attempt))
    return tuple(spans)
