"""Failures that people reported about partial tool arguments, with the values they should have had.

The ids name entries of the collection of public reports; the bytes are the reported ones.
"""

from __future__ import annotations

import json
from itertools import accumulate

import pytest

from seamstream._core import JsonScanner
from tests.json.forms import display_text, display_value, is_json, scan

CUT_IN_SURROGATE_PAIR = [b'{"t":"w\\', b"n\\ud8", b"3e\\udd", b'ad"}']
LONE_BACKSLASHES = [b'{"p":"C:\\Users\\', b'\\new\nrow"}']


def test_b64_every_prefix_shows_a_growing_value_without_half_a_pair() -> None:
    document = b"".join(CUT_IN_SURROGATE_PAIR)
    shown = ""
    for length in range(1, len(document) + 1):
        text = display_value(document[:length]).get("t", "")
        assert "w\n\N{SEAL}".startswith(text)
        assert not any("\ud800" <= character <= "\udfff" for character in text)
        assert len(text) >= len(shown)
        shown = text
    assert shown == "w\n\N{SEAL}"


def test_b64_fragments_and_single_bytes_agree_with_the_whole() -> None:
    document = b"".join(CUT_IN_SURROGATE_PAIR)
    fragments = list(accumulate(CUT_IN_SURROGATE_PAIR))
    assert [display_value(fragment) for fragment in fragments] == [
        {"t": "w"},
        {"t": "w\n"},
        {"t": "w\n"},
        {"t": "w\n\N{SEAL}"},
    ]
    by_byte = scan(*(bytes([byte]) for byte in document))
    assert by_byte.state == scan(*CUT_IN_SURROGATE_PAIR).state == scan(document).state == "complete"


def test_b65_a_lone_backslash_is_invalid_at_its_byte_and_never_an_empty_object() -> None:
    scanner = JsonScanner()
    assert scanner.push(LONE_BACKSLASHES[0]) == "invalid"
    assert scanner.push(LONE_BACKSLASHES[1]) == "invalid"
    assert scanner.finish() == "invalid"
    assert scanner.offset == LONE_BACKSLASHES[0].index(b"U")
    assert scanner.suffix() is None
    assert display_value(LONE_BACKSLASHES[0][: scanner.offset]) == {"p": "C:"}


def test_b65_a_raw_newline_in_a_string_is_invalid() -> None:
    document = b'{"p":"new\nrow"}'
    assert scan(document).offset == document.index(b"\n")
    assert not is_json(document)


@pytest.mark.parametrize(
    ("prefix", "form"),
    [
        (b'{"rows":[{"w":4},{"w":5', '{"rows":[{"w":4},{"w":5}]}'),
        (b'{"src":"while k: [{","z":[8', '{"src":"while k: [{","z":[8]}'),
    ],
)
def test_b67_brackets_close_in_order_and_those_in_strings_do_not_count(prefix: bytes, form: str) -> None:
    assert scan(prefix).state == "open"
    assert scan(prefix).finish() == "open"
    assert display_text(prefix) == form


def test_b67_an_integer_over_pythons_digit_limit_is_only_text_here() -> None:
    document = b'{"n":' + b"7" * 5000 + b"}"
    assert scan(document).state == "complete"
    with pytest.raises(ValueError, match="limit"):
        json.loads(document)


def test_b69_nesting_above_the_limit_is_invalid_at_its_bracket() -> None:
    opening = b'{"a":'
    scanner = scan(*[opening * 200] * 500)
    assert scanner.state == "invalid"
    assert scanner.offset == len(opening) * 512
    assert scanner.depth == 512


def test_b69_deep_nesting_under_a_raised_limit_is_read_without_recursion() -> None:
    depth = 60_000
    scanner = JsonScanner(max_depth=depth)
    assert scanner.push(b"[" * depth + b"7") == "open"
    assert scanner.suffix() == "]" * depth
    assert scanner.push(b"]" * depth) == "complete"
