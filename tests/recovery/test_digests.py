"""Digests tell different things apart and equal things together."""

from __future__ import annotations

from seamstream.recovery.digests import content_digest, digest
from seamstream.types import PartialToolCall, ToolCall
from tests.recovery.made import snapshot


def test_parts_do_not_run_together() -> None:
    assert digest(b"ab", b"c") != digest(b"a", b"bc")
    assert digest(b"abc") != digest(b"abc", b"")
    assert digest(b"a", b"b") == digest(b"a", b"b")


def test_content_is_what_the_model_said() -> None:
    said = {
        "text": {"text": "Hello"},
        "reasoning": {"reasoning": "Hello"},
        "refusal": {"refusal": "Hello"},
        "call": {"completed_tool_calls": (ToolCall("1", "f", "{}"),)},
        "other call": {"completed_tool_calls": (ToolCall("1", "g", "{}"),)},
        "half call": {"in_flight_tools": (PartialToolCall("1", "f", "{"),)},
        "nothing": {},
        "half an emoji": {"text": "\ud83d"},
    }
    digests = {content_digest(snapshot(**fields)) for fields in said.values()}
    assert len(digests) == len(said)


def test_ids_and_numbers_of_an_attempt_are_not_content() -> None:
    one = snapshot(
        text="Hello", completed_tool_calls=(ToolCall("1", "f", "{}"),), attempt=1, bytes_received=10
    )
    two = snapshot(
        text="Hello", completed_tool_calls=(ToolCall("2", "f", "{}"),), attempt=2, bytes_received=99
    )
    assert content_digest(one) == content_digest(two)
