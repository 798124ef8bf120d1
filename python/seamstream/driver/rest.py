"""A response that its server gives only as a whole, as the end of the stream that was cut.

OpenAI streams a background response again for about five minutes and Gemini's streams of kept interactions
are known to hang; the response itself can still be asked for, until it is over.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Place = tuple[str, int, int]


class Misfit(Exception):
    """The response is not what was read of it."""


@dataclass(frozen=True, slots=True)
class Known:
    """What was read: the mark of the last event, its place (`Splice.last_place`), and the parts' texts and
    signatures by the number of their item and their own inside that.
    """

    event: str | None
    place: Place
    parts: dict[tuple[int, int], str] = field(default_factory=dict)
    signatures: dict[tuple[int, int], str] = field(default_factory=dict)

    def read(self, item: int, inner: int = 0) -> str:
        """What was read of a part."""
        return self.parts.get((item, inner), "")

    @property
    def items(self) -> list[int]:
        """The numbers of the items that were read, in order."""
        return sorted({item for item, _ in self.parts})

    @staticmethod
    def rest(whole: str, read: str) -> str:
        """The end of a text that was not read."""
        if not whole.startswith(read):
            raise Misfit("the response's text is not the one that was read")
        return whole[len(read) :]

    @staticmethod
    def split(whole: str, read: str) -> tuple[str, str]:
        """What was read of a part, and of those behind it."""
        return read[: len(whole)], read[len(whole) :]


def objects(value: Any) -> list[dict[str, Any]]:
    """The members of a list that are objects; all of them, or the response is none that we know."""
    entries = value if isinstance(value, list) else []
    if not all(isinstance(entry, dict) for entry in entries):
        raise Misfit("the response is written in a way that is not known")
    return entries


def text_of(value: Any) -> str:
    """A text; empty where there is none."""
    return value if isinstance(value, str) else ""
