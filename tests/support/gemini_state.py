"""The received part of a Gemini turn, for `cut_state`: the shortest code that can read it."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.support.cut_state import CutState, OpenCall

FILTERS = {"SAFETY", "RECITATION", "PROHIBITED_CONTENT", "BLOCKLIST", "SPII"}
SERVER = {"executableCode", "codeExecutionResult", "inlineData", "toolCall", "toolResponse"}


def canonical(value: Any) -> str:
    """JSON whatever order or spacing its writer gave it."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def put(root: dict[str, Any], path: str, value: Any) -> None:
    """Set what a path such as `$.a[0].b` leads to; text grows."""
    steps: list[Any] = [
        int(index) if index else name for name, index in re.findall(r"\.([^.\[]+)|\[(\d+)\]", path)
    ]
    holder: Any = root
    for at, step in enumerate(steps):
        last = at + 1 == len(steps)
        fresh: Any = None if last else [] if isinstance(steps[at + 1], int) else {}
        if isinstance(step, int) and len(holder) == step:
            holder.append(fresh)
        elif isinstance(step, str):
            holder.setdefault(step, fresh)
        if last:
            grown = isinstance(holder[step], str) and isinstance(value, str)
            holder[step] = holder[step] + value if grown else value
        holder = holder[step]


def stop_of(reason: str, *, calls: bool) -> str:
    """The normalised stop reason."""
    if reason in FILTERS:
        return "content_filter"
    return {"STOP": "tool_use" if calls else "end_turn", "MAX_TOKENS": "max_tokens"}.get(reason, reason)


def read_chunk(state: CutState, chunk: dict[str, Any], new_call: type[OpenCall]) -> None:
    if chunk.get("responseId") and chunk["responseId"] not in state.ids:
        state.ids.append(chunk["responseId"])
    for candidate in chunk.get("candidates") or ():
        for part in (candidate.get("content") or {}).get("parts") or ():
            _read_part(state, part, new_call)
        if reason := candidate.get("finishReason"):
            _close(state)
            state.stops[candidate.get("index", 0)] = stop_of(reason, calls=bool(state.calls))
    if blocked := (chunk.get("promptFeedback") or {}).get("blockReason"):
        state.stops[0] = stop_of(blocked, calls=False)


def _read_part(state: CutState, part: dict[str, Any], new_call: type[OpenCall]) -> None:
    state.server_item = state.server_item or bool(SERVER & set(part))
    if "functionCall" in part:
        _read_call(state, part["functionCall"], new_call)
    elif part.get("thought"):
        state.reasoning += part.get("text", "")
    else:
        state.text += part.get("text", "")


def _read_call(state: CutState, call: dict[str, Any], new_call: type[OpenCall]) -> None:
    if call.get("name"):
        _close(state)
        opened = new_call(call["name"], canonical(call.get("args") or {}), json=False)
        state.calls.append(opened)
    for piece in call.get("partialArgs") or ():
        value = next((piece[name] for name in piece if name.endswith("Value")), None)
        arguments = json.loads(state.calls[-1].arguments)
        put(arguments, piece["jsonPath"], None if value == "NULL_VALUE" else value)
        state.calls[-1].arguments = canonical(arguments)
    if not call.get("willContinue"):
        _close(state)


def _close(state: CutState) -> None:
    for call in state.calls:
        call.closed = True
