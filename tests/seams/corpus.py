"""The corpus: what a model said when it was asked for the rest, and whether that may be joined.

One JSON object a line: `shown` is the text the reader has, `strategy` how the rest was asked for (`exact`:
right behind the text; `prompt`: by quoting its end), `says` the reply, `calls` that a tool call follows it.
`verdict` is the join, with the whole `text` that the reader must end up with, or `refused`; both follow from
the join rules, not from what the core does. What nobody can see from the text alone, an exact continuation
that merely says something else, is not in here.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from seamstream.recovery.continuation.prompt import quote_of

HERE = Path(__file__).parent
REFUSED = "refused"


@dataclass(frozen=True)
class Entry:
    """One continuation."""

    group: str
    name: str
    shown: str
    strategy: Literal["exact", "prompt"]
    says: str
    verdict: str
    text: str | None = None
    calls: bool = False
    guessed_blanks: bool = False

    @property
    def sent(self) -> str:
        """The prefix that a request carries: no provider takes blanks at its end."""
        return self.shown.rstrip()

    @property
    def stripped(self) -> str:
        return self.shown[len(self.sent) :]

    @property
    def quote(self) -> str:
        return "" if self.strategy == "exact" else quote_of(self.sent)

    def __str__(self) -> str:
        return f"{self.strategy}: {self.name}"


@cache
def entries() -> tuple[Entry, ...]:
    """All of them. Lines end with LF only: the texts hold other line ends."""
    return tuple(
        Entry(path.stem, **json.loads(line))
        for path in sorted(HERE.glob("*.jsonl"))
        for line in path.read_text("utf-8").split("\n")
        if line
    )
