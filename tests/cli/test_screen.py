"""What is written to a terminal and to a file."""

from __future__ import annotations

import io

import pytest

from seamstream.cli.screen import Screen


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_without_colour_there_is_no_escape_sequence() -> None:
    out = io.StringIO()
    screen = Screen(out, colour=False)
    screen.write("text ", "mark")
    screen.line("next", "bad")
    screen.table(["a", "kept"], [["x", "same answer: yes"], ["longer", "same answer: no"]])
    assert out.getvalue().splitlines() == [
        "text ",
        "next",
        "a       kept",
        "------  ----------------",
        "x       same answer: yes",
        "longer  same answer: no",
    ]


def test_with_colour_the_words_are_the_same() -> None:
    plain, coloured = io.StringIO(), io.StringIO()
    for out in (plain, coloured):
        screen = Screen(out, colour=out is coloured)
        screen.line("title", "bold")
        screen.table(["kept"], [["yes"], ["no"]])
    assert "\x1b[32myes\x1b[0m" in coloured.getvalue()
    assert "\x1b[1;31mno\x1b[0m" in coloured.getvalue()
    without = coloured.getvalue()
    for code in ("1", "2", "32", "1;31", "0"):
        without = without.replace(f"\x1b[{code}m", "")
    assert without == plain.getvalue()


@pytest.mark.parametrize(("refused", "expected"), [(False, "\x1b[1mx\x1b[0m\n"), (True, "x\n")])
def test_a_terminal_gets_colour_unless_it_was_refused(
    monkeypatch: pytest.MonkeyPatch, refused: bool, expected: str
) -> None:
    out = Terminal()
    monkeypatch.setattr("sys.stdout", out)
    screen = Screen.standard(no_colour=refused)
    screen.line("x", "bold")
    assert screen.watched
    assert out.getvalue() == expected


def test_an_encoding_that_lacks_a_character_gets_another(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(raw, encoding="ascii"))
    Screen.standard(no_colour=True).line("lamp 🗼")
    assert raw.getvalue() == b"lamp ?\n"
