"""Reads ConverseStream events into the state of a cut; `opened` makes a call."""

from __future__ import annotations

from typing import Any


def read_event(state: Any, blocks: dict[int, Any], kind: str, event: dict[str, Any], opened: Any) -> None:
    """One event, as the wire or botocore gives it."""
    index, delta = event.get("contentBlockIndex", 0), event.get("delta") or {}
    if kind == "contentBlockStart" and "toolUse" in event["start"]:
        blocks[index] = opened(event["start"]["toolUse"]["name"])
        state.calls.append(blocks[index])
    elif kind == "contentBlockDelta":
        state.text += delta.get("text") or ""
        state.reasoning += (delta.get("reasoningContent") or {}).get("text") or ""
        if index in blocks:
            blocks[index].arguments += (delta.get("toolUse") or {}).get("input") or ""
    elif kind == "contentBlockStop" and index in blocks:
        blocks[index].closed = True
    elif kind == "messageStop":
        state.stops[0] = event["stopReason"]
        state.ended = True
    elif kind.endswith("Exception"):
        state.error = kind
