"""The received part of an Interactions turn, for `cut_state`: the shortest code that can read it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.support.gemini_state import canonical

if TYPE_CHECKING:
    from tests.support.cut_state import CutState, OpenCall

STOPS = {"completed": "end_turn", "requires_action": "tool_use", "incomplete": "max_tokens"}
ENDS = ("interaction.completed", "interaction.complete")


def read_event(
    state: CutState, calls: dict[int, OpenCall], event: dict[str, Any], new_call: type[OpenCall]
) -> None:
    kind, index = event["event_type"], event.get("index", -1)
    if kind in ("interaction.created", "interaction.start"):
        state.ids.append(event["interaction"]["id"])
    elif kind in ("step.start", "content.start"):
        step = event.get("step") or event["content"]
        if step["type"] == "function_call":
            calls[index] = new_call(step["name"], canonical(step["arguments"]) if step["arguments"] else "")
            state.calls.append(calls[index])
        state.server_item = state.server_item or step["type"].startswith("google_search")
    elif kind in ("step.delta", "content.delta"):
        _read_delta(state, calls.get(index), event["delta"])
    elif kind in ("step.stop", "content.stop") and index in calls:
        calls[index].closed = True
    elif kind in ENDS:
        status = event["interaction"]["status"]
        state.stops[0] = STOPS.get(status, status)
        state.ended = True


def _read_delta(state: CutState, call: OpenCall | None, delta: dict[str, Any]) -> None:
    if delta["type"] == "text":
        state.text += delta["text"]
    elif delta["type"] == "thought_summary":
        state.reasoning += delta["content"]["text"]
    elif delta["type"] == "arguments_delta" and call is not None:
        call.arguments = tidy(call.arguments + delta["arguments"])


def tidy(arguments: str) -> str:
    """A whole object in one form, whoever wrote it; a beginning stays as it is."""
    try:
        return canonical(json.loads(arguments))
    except ValueError:
        return arguments
