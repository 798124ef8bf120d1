"""The quoted end of a text: short, whole where it is cut, and never ending in blanks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seamstream.recovery.continuation.prompt import MAX_QUOTE_CHARS, quote_of


@pytest.mark.parametrize("text", ["a", "short text", "x" * 160, "  indented"])
def test_a_short_text_is_quoted_whole(text: str) -> None:
    assert quote_of(text) == text


def test_trailing_blanks_are_not_quoted() -> None:
    assert quote_of("First,\n\n") == "First,"


def test_a_long_text_is_quoted_from_a_word_on() -> None:
    text = "word " * 100 + "the end"
    quote = quote_of(text)
    assert text.endswith(quote)
    assert quote.startswith("word ")
    assert MAX_QUOTE_CHARS - 24 <= len(quote) <= MAX_QUOTE_CHARS


def test_a_word_that_begins_just_there_is_kept() -> None:
    assert quote_of("x" * 50 + " " + "y" * 160) == "y" * 160


def test_text_without_blanks_is_cut_at_the_length() -> None:
    assert quote_of("漢" * 500) == "漢" * 160


def test_a_gap_of_blanks_is_no_start_of_a_word() -> None:
    quote = quote_of("a" * 100 + "b" * 10 + "   " + "c" * 157)
    assert quote == "c" * 157


@pytest.mark.parametrize(
    ("name", "character"),
    [
        ("joined family", "\U0001f468\u200d\U0001f469\u200d\U0001f467"),
        ("skin tone", "\U0001f44d\U0001f3fd"),
        ("variation", "\u2764\ufe0f"),
        ("combining accent", "e\u0301"),
        ("line end", "\r\n"),
    ],
)
def test_no_character_is_split(name: str, character: str) -> None:
    for offset in range(1, len(character) + 1):
        text = "-" * 80 + character + "x" * (MAX_QUOTE_CHARS - offset)
        quote = quote_of(text)
        assert quote.removeprefix(character) == "x" * (MAX_QUOTE_CHARS - offset), name


def test_where_no_character_begins_the_length_rules() -> None:
    assert quote_of("\u200d" * 400) == "\u200d" * 160


@given(st.text(min_size=1, max_size=400))
def test_a_quote_is_an_end_of_the_text(text: str) -> None:
    quote = quote_of(text)
    assert text.rstrip().endswith(quote)
    assert len(quote) <= MAX_QUOTE_CHARS
    assert bool(quote) is bool(text.strip())
