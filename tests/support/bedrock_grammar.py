"""ConverseStream's own rules for the order of its events, which botocore does not check."""

from __future__ import annotations

from typing import Any

Event = tuple[str, dict[str, Any]]

_KINDS = ("text", "toolUse", "reasoningContent")


def check_events(events: list[Event], whole: bool) -> None:
    """One start, one stop with nothing but usage behind it, and blocks one after the other."""
    kinds = [kind for kind, _ in events]
    assert kinds[:1] in ([], ["messageStart"])
    assert kinds.count("messageStart") <= 1
    assert not any(kind.endswith("Exception") for kind in kinds[: None if whole else -1])
    _check_blocks([event for event in events if event[0].startswith("contentBlock")], whole)
    end = kinds.index("messageStop") if "messageStop" in kinds else len(kinds)
    assert end < len(kinds) or not whole, "no end"
    assert kinds[end + 1 :] in ([], ["metadata"]), f"{kinds[end + 1 :]} behind the end"
    assert "metadata" not in kinds[:end], "usage before the end"


def _check_blocks(events: list[Event], whole: bool) -> None:
    """A block is open from its start (a call) or its first delta (all others) to its stop, and only once."""
    is_open: tuple[int, str] | None = None
    latest = -1
    for kind, payload in events:
        index = payload["contentBlockIndex"]
        if kind == "contentBlockStop":
            assert is_open is not None, f"block {index} closed, but none is open"
            assert is_open[0] == index, f"block {index} closed, but {is_open} is open"
            is_open = None
            continue
        if is_open is None or kind == "contentBlockStart":
            assert is_open is None, f"block {index} inside {is_open}"
            assert index > latest, f"block {index} behind block {latest}"
            latest, is_open = index, (index, _kind_of(kind, payload))
        if kind == "contentBlockDelta":
            assert is_open == (index, _member(payload["delta"])), f"{payload} inside {is_open}"
    assert is_open is None or not whole, f"{is_open} never closed"


def _kind_of(kind: str, payload: dict[str, Any]) -> str:
    """What a block holds, from its first event. Only its start can name the tool of a call."""
    if kind == "contentBlockStart":
        return _member(payload["start"])
    told = _member(payload["delta"])
    assert told != "toolUse", "a call without a start"
    return told


def _member(union: dict[str, Any]) -> str:
    (member,) = (name for name in union if name in _KINDS)
    return member
