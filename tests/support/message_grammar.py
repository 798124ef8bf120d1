"""The rules of Chat Completions, Messages and Gemini for the order of events, unchecked by their SDKs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

Event = dict[str, Any]

_SAID = ("content", "refusal", "reasoning", "reasoning_content", "tool_calls")
_BLOCK_OF = {
    "text_delta": "text",
    "citations_delta": "text",
    "thinking_delta": "thinking",
    "signature_delta": "thinking",
    "input_json_delta": "tool_use",
}


def check_chat(events: list[Event], whole: bool) -> None:
    """One message, whose choices end once each and say nothing more; `[DONE]` and errors come last."""
    chunks = [event for event in events if event and "error" not in event]
    assert all(event and "error" not in event for event in events[:-1]), "an end before the end"
    assert len({chunk["id"] for chunk in chunks if chunk.get("id")}) <= 1, "two messages"
    ended, calls = set[int](), dict[int, int]()
    for chunk in chunks:
        for choice in chunk.get("choices") or ():
            index, delta = choice.get("index", 0), choice.get("delta") or {}
            assert index not in ended or not any(delta.get(name) for name in _SAID), "more behind the end"
            calls[index] = _count_calls(calls.get(index, 0), delta.get("tool_calls") or ())
            if choice.get("finish_reason"):
                assert index not in ended, f"choice {index} ended twice"
                ended.add(index)
    assert not whole or set(calls) == ended, f"only {ended} of {set(calls)} ended"


def _count_calls(known: int, pieces: Iterable[Event]) -> int:
    """Calls are numbered as they come, and named by the piece that opens them."""
    for piece in pieces:
        index = piece.get("index", known)
        assert index <= known, f"call {index} behind {known} others"
        if index == known:
            assert piece.get("id"), "a call without an id"
            assert piece["function"].get("name"), "a call without a name"
            known += 1
    return known


def check_anthropic(events: list[Event], whole: bool) -> None:
    """One start, one stop, and blocks one after the other, numbered without a gap."""
    spoken = [event for event in events if event["type"] != "ping"]
    kinds = [event["type"] for event in spoken]
    assert kinds[:1] in ([], ["message_start"], ["error"])
    assert kinds.count("message_start") <= 1
    assert "error" not in kinds[: None if whole else -1]
    assert "message_stop" not in kinds[:-1]
    blocks = [event for event in spoken if event["type"].startswith("content_block")]
    _check_blocks(blocks, whole)
    if "message_delta" in kinds:
        tail = kinds[kinds.index("message_delta") :]
        assert set(tail[:-1]) <= {"message_delta"}, f"{tail} at the end"
    if whole:
        assert kinds[-2:] == ["message_delta", "message_stop"]


def _check_blocks(blocks: list[Event], whole: bool) -> None:
    count = 0
    is_open: str | None = None
    for event in blocks:
        kind, index = event["type"], event["index"]
        if kind == "content_block_start":
            assert is_open is None, f"block {index} inside {is_open}"
            assert index == count, f"block {index} is number {count}"
            count, is_open = count + 1, event["content_block"]["type"]
            continue
        assert is_open is not None, f"{kind} outside a block"
        assert index == count - 1, f"{kind} of {index} inside {count - 1}"
        if kind == "content_block_stop":
            is_open = None
        else:
            told = event["delta"]["type"]
            assert is_open.endswith(_BLOCK_OF.get(told, is_open)), f"{told} inside {is_open}"
    assert is_open is None or not whole, f"{is_open} never closed"


def check_gemini(events: list[Event], whole: bool) -> None:
    """One response, whose candidates end once each and say nothing more; a call's pieces follow its name."""
    chunks = [event for event in events if "error" not in event]
    assert all("error" not in event for event in events[: None if whole else -1])
    assert len({chunk["responseId"] for chunk in chunks if chunk.get("responseId")}) <= 1, "two responses"
    seen, ended, streamed = set[int](), set[int](), set[int]()
    blocked = any("blockReason" in (chunk.get("promptFeedback") or {}) for chunk in chunks)
    for chunk in chunks:
        for candidate in chunk.get("candidates") or ():
            index = candidate.get("index", 0)
            seen.add(index)
            assert index not in ended, f"candidate {index} goes on behind its end"
            for part in (candidate.get("content") or {}).get("parts") or ():
                _check_call(part.get("functionCall"), index, streamed)
            if candidate.get("finishReason"):
                ended.add(index)
    if whole:
        assert blocked or (seen == ended and seen), f"only {ended} of {seen} ended"


def _check_call(call: Event | None, index: int, streamed: set[int]) -> None:
    """`streamed` are the candidates in the middle of a call."""
    if call is None:
        return
    assert call.get("name") or index in streamed, "a piece of no call"
    assert not ("args" in call and "partialArgs" in call), "a call both whole and in pieces"
    if call.get("willContinue"):
        streamed.add(index)
    else:
        streamed.discard(index)
