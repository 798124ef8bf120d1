"""Unsigned thinking that this process left is dropped from later requests, and nothing else is."""

from __future__ import annotations

import json
from typing import Any

from seamstream.recovery.repair import UnsignedThinking

LOST = {"type": "thinking", "thinking": "First I weigh", "signature": ""}
SIGNED = {"type": "thinking", "thinking": "First I weigh", "signature": "c2ln"}
OTHER = {"type": "thinking", "thinking": "Something else", "signature": ""}
SAID = {"type": "text", "text": "Two."}


def book(*texts: str, limit: int = 16) -> UnsignedThinking:
    made = UnsignedThinking(limit)
    for text in texts:
        made.remember(text)
    return made


def request(*blocks: dict[str, Any], role: str = "assistant") -> bytes:
    messages = [{"role": "user", "content": "How many?"}, {"role": role, "content": list(blocks)}]
    return json.dumps({"model": "m", "messages": messages, "max_tokens": 9}).encode()


def content(body: bytes | None) -> Any:
    assert body is not None
    return json.loads(body)["messages"][1]["content"]


def test_the_block_that_was_left_unsigned_is_dropped() -> None:
    assert content(book("First I weigh").cleaned(request(LOST, SAID))) == [SAID]


def test_a_missing_signature_counts_as_none() -> None:
    block = {"type": "thinking", "thinking": "First I weigh"}
    assert content(book("First I weigh").cleaned(request(block, SAID))) == [SAID]


def test_signed_and_foreign_blocks_stay() -> None:
    assert book("First I weigh").cleaned(request(SIGNED, OTHER, SAID)) is None


def test_the_rest_of_the_request_is_kept() -> None:
    body = book("First I weigh").cleaned(request(LOST, OTHER, SAID))
    before, after = json.loads(request(OTHER, SAID)), json.loads(body or b"")
    assert after == before


def test_a_message_is_never_left_empty() -> None:
    assert book("First I weigh").cleaned(request(LOST)) is None


def test_only_assistant_messages_are_looked_at() -> None:
    assert book("First I weigh").cleaned(request(LOST, SAID, role="user")) is None


def test_nothing_remembered_or_no_json_changes_nothing() -> None:
    assert book().cleaned(request(LOST, SAID)) is None
    assert book("First I weigh").cleaned(b'{"thinking"') is None
    assert book("First I weigh").cleaned(b'["thinking"]') is None


def test_the_oldest_are_forgotten_at_the_limit() -> None:
    remembered = book("one", "two", "one", "three", limit=2)
    assert len(remembered) == 2
    known = [
        text for text in ("one", "two", "three") if remembered.knows({"type": "thinking", "thinking": text})
    ]
    assert known == ["one", "three"]
