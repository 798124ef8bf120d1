"""Loads tests/data/cases.json: reported byte sequences, what is right for them, and how to feed them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seamstream._core import Splice

CASES_FILE = Path(__file__).parent.parent / "data" / "cases.json"


@dataclass(frozen=True)
class Case:
    """`expect` are fields of the snapshot after the cut, `plan` the row of the plan table that follows."""

    id: str
    name: str
    dialect: Any
    reads: tuple[bytes, ...]
    options: dict[str, Any]
    expect: dict[str, Any]
    plan: str | None
    more: dict[str, Any]

    @property
    def data(self) -> bytes:
        return b"".join(self.reads)

    def __str__(self) -> str:
        return f"{self.id} {self.name}"

    def every_cut(self) -> Iterator[list[bytes]]:
        """The reads as reported, one byte at a time, and cut in two at every offset."""
        yield list(self.reads)
        yield [self.data[at : at + 1] for at in range(len(self.data))]
        for at in range(1, len(self.data)):
            yield [self.data[:at], self.data[at:]]


def load() -> list[Case]:
    """The cases of all protocols that are spoken."""
    entries = json.loads(CASES_FILE.read_text(encoding="utf-8"))["cases"]
    return [_case(entry) for entry in entries if is_spoken(entry["dialect"])]


def is_spoken(dialect: Any) -> bool:
    """Does the core know this protocol?"""
    try:
        Splice(dialect)
    except ValueError:
        return False
    return True


def _case(entry: dict[str, Any]) -> Case:
    known = ("id", "name", "right", "dialect", "chunks_latin1", "options", "expect", "plan")
    return Case(
        id=entry["id"],
        name=entry["name"],
        dialect=entry["dialect"],
        reads=tuple(text.encode("latin-1") for text in entry["chunks_latin1"]),
        options=entry.get("options", {}),
        expect=entry["expect"],
        plan=entry["plan"],
        more={key: value for key, value in entry.items() if key not in known},
    )
