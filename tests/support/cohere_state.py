"""Reads events of Cohere's protocol into the state of a cut; `opened` makes a call."""

from __future__ import annotations

from typing import Any


def read_event(state: Any, blocks: dict[int, Any], event: dict[str, Any], opened: Any) -> None:
    """One event, as the wire or the client gives it."""
    kind, index, delta = event["type"], event.get("index", 0), event.get("delta") or {}
    message = delta.get("message") or {}
    content, function = message.get("content") or {}, (message.get("tool_calls") or {})
    function = (function.get("function") or {}) if isinstance(function, dict) else {}
    if kind == "message-start":
        state.ids.append(event["id"])
    elif kind == "tool-plan-delta":
        state.reasoning += message["tool_plan"]
    elif kind in ("content-start", "content-delta"):
        state.text += content.get("text") or ""
        state.reasoning += content.get("thinking") or ""
    elif kind == "tool-call-start":
        blocks[index] = opened(function["name"], function.get("arguments") or "")
        state.calls.append(blocks[index])
    elif kind == "tool-call-delta":
        blocks[index].arguments += function.get("arguments") or ""
    elif kind == "tool-call-end":
        blocks[index].closed = True
    elif kind == "message-end" and delta["finish_reason"] in ("ERROR", "TIMEOUT"):
        state.error = str(delta.get("error"))
    elif kind == "message-end":
        state.stops[0] = delta["finish_reason"]
        state.ended = True
