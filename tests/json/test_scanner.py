"""JsonScanner against the standard library's reader, on every prefix and however the bytes are cut."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seamstream._core import JsonScanner
from tests.json.forms import display_value, is_json, scan

NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
TEXT = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)
DOCUMENTS = st.builds(
    lambda value, ascii_only, indent: json.dumps(value, ensure_ascii=ascii_only, indent=indent),
    VALUES,
    st.booleans(),
    st.sampled_from([None, 1]),
)


@given(DOCUMENTS)
def test_every_prefix_of_a_document(document: str) -> None:
    data = document.encode()
    for length in range(len(data) + 1):
        scanner = scan(data[:length])
        assert scanner.state != "invalid"
        display_value(data[:length])
        assert (scanner.finish() == "complete") == _is_json_or_half_character(data[:length])


@given(DOCUMENTS, st.data())
def test_damaged_documents(document: str, data: st.DataObject) -> None:
    index = data.draw(st.integers(0, len(document)))
    damage = data.draw(st.sampled_from('{}[]",:\\0-+.eE \n'))
    damaged = (document[:index] + damage + document[index:]).encode()
    scanner = scan(damaged)
    assert (scanner.finish() == "complete") == is_json(damaged)
    if scanner.offset is not None:
        display_value(damaged[: scanner.offset])
        assert scan(damaged[: scanner.offset + 1]).offset == scanner.offset


@given(DOCUMENTS, st.lists(st.integers(0, 200), max_size=5))
def test_cuts_do_not_matter(document: str, cuts: list[int]) -> None:
    data = document.encode()
    edges = [0, *sorted(cuts), len(data)]
    in_pieces = scan(*(data[start:end] for start, end in pairwise(edges)))
    assert _facts(in_pieces) == _facts(scan(data)) == _facts(scan(*(bytes([byte]) for byte in data)))


@pytest.mark.parametrize(
    "text", [b"NaN", b"Infinity", b"-Infinity", b"[1,]", b"01", b"{} {}", "\ufeff{}".encode()]
)
def test_what_lenient_readers_take_is_invalid(text: bytes) -> None:
    assert scan(text).finish() == "invalid"


def test_a_bare_number_is_complete_only_at_the_end_of_input() -> None:
    scanner = scan(b"12")
    assert scanner.state == "open"
    assert scanner.finish() == "complete"


def test_lone_surrogates_are_legal_text_as_for_the_standard_library() -> None:
    assert is_json(b'"\\ud83e"')
    assert scan(b'"\\ud83e"').state == "complete"


def test_arguments_of_the_wrong_type_are_refused() -> None:
    with pytest.raises(TypeError):
        JsonScanner().push("{}")  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        JsonScanner(512)  # type: ignore[call-arg]


def _is_json_or_half_character(prefix: bytes) -> bool:
    try:
        return is_json(prefix)
    except UnicodeDecodeError:
        return False


def _facts(scanner: JsonScanner) -> tuple[Any, ...]:
    return scanner.state, scanner.depth, scanner.offset, scanner.suffix(), scanner.display_cut()
