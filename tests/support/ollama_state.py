"""Reads lines of Ollama's protocol into the state of a cut; `opened` makes a call."""

from __future__ import annotations

import json
from typing import Any


def read_line(state: Any, line: dict[str, Any], opened: Any) -> None:
    """One line of `/api/chat` or `/api/generate`."""
    message = line.get("message") or {}
    state.text += (message.get("content") or "") + (line.get("response") or "")
    state.reasoning += (message.get("thinking") or "") + (line.get("thinking") or "")
    for call in message.get("tool_calls") or []:
        function = call["function"]
        arguments = json.dumps(function["arguments"], ensure_ascii=False, separators=(",", ":"))
        state.calls.append(opened(function["name"], arguments, closed=True))
    if line.get("done"):
        state.stops[0] = line.get("done_reason") or "stop"
        state.ended = True
