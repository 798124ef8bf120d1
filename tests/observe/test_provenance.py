"""Every character of a text has exactly one attempt."""

from __future__ import annotations

import pytest

from seamstream.observe.provenance import Span, provenance
from seamstream.types import SeamRecord


def seam(offset: int, attempt: int) -> SeamRecord:
    return SeamRecord(offset, "ConnectionReset", "R1", "prefill", attempt)


@pytest.mark.parametrize(
    ("length", "seams", "first", "spans"),
    [
        (0, (), 1, ()),
        (10, (), 1, (Span(0, 10, 1),)),
        (10, (), 2, (Span(0, 10, 2),)),
        (10, (seam(4, 2),), 1, (Span(0, 4, 1), Span(4, 10, 2))),
        (10, (seam(4, 2), seam(4, 3)), 1, (Span(0, 4, 1), Span(4, 10, 3))),
        (10, (seam(4, 2), seam(7, 3)), 1, (Span(0, 4, 1), Span(4, 7, 2), Span(7, 10, 3))),
        (4, (seam(4, 2),), 1, (Span(0, 4, 1),)),
        (4, (seam(0, 2),), 1, (Span(0, 4, 2),)),
    ],
)
def test_spans(length: int, seams: tuple[SeamRecord, ...], first: int, spans: tuple[Span, ...]) -> None:
    assert provenance(length, seams, first_attempt=first) == spans
    covered = [character for span in spans for character in range(span.start, span.end)]
    assert covered == list(range(length))
