"""Writes to a terminal or a file: colour only where somebody sees it, and a table that needs none."""

from __future__ import annotations

import io
import sys
import textwrap
from collections.abc import Sequence
from typing import Literal, TextIO

Style = Literal["plain", "bold", "dim", "good", "bad", "mark"]
_CODES: dict[Style, str] = {"plain": "", "bold": "1", "dim": "2", "good": "32", "bad": "1;31", "mark": "1;33"}


class Screen:
    """`colour` is for terminals; without it the same words come without any escape sequence."""

    def __init__(self, out: TextIO, *, colour: bool) -> None:
        self._out = out
        self._colour = colour
        self._mid_line = False

    @classmethod
    def standard(cls, *, no_colour: bool) -> Screen:
        """Standard output; characters that its encoding lacks are replaced."""
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="replace")
        return cls(sys.stdout, colour=sys.stdout.isatty() and not no_colour)

    @property
    def watched(self) -> bool:
        """Somebody may be looking at it."""
        return self._out.isatty()

    def write(self, text: str, style: Style = "plain") -> None:
        """Write on, without a line end."""
        self._out.write(self._styled(text, style))
        self._out.flush()
        if text:
            self._mid_line = not text.endswith("\n")

    def line(self, text: str = "", style: Style = "plain") -> None:
        """Write one line, on a line of its own."""
        if self._mid_line:
            self.write("\n")
        self.write(f"{text}\n", style)

    def paragraph(self, text: str, style: Style = "plain") -> None:
        self.line(textwrap.fill(text, 100), style)

    def table(self, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Columns as wide as their widest cell; cells that say yes or no are coloured."""
        widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
        titles = "  ".join(cell.ljust(width) for cell, width in zip(header, widths, strict=True))
        self.line(titles.rstrip(), "bold")
        self.line("  ".join("-" * width for width in widths), "dim")
        for row in rows:
            cells = zip(row, widths, strict=True)
            padded = (
                self._styled(cell, _style_of(cell)) + " " * (width - len(cell)) for cell, width in cells
            )
            self.line("  ".join(padded).rstrip())

    def _styled(self, text: str, style: Style) -> str:
        if not self._colour or style == "plain":
            return text
        body = text.rstrip("\n")
        return f"\x1b[{_CODES[style]}m{body}\x1b[0m{text[len(body) :]}"


def _style_of(cell: str) -> Style:
    last_word = cell.rpartition(" ")[2]
    return "good" if last_word == "yes" else "bad" if last_word == "no" else "plain"
