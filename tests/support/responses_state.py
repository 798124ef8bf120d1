"""The received part of an OpenAI Responses turn, for `cut_state`: the shortest code that can read it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.support.cut_state import CutState, OpenCall

PAYLOAD = {
    "apply_patch_call": "operation",
    "local_shell_call": "action",
    "shell_call": "action",
    "computer_call": "action",
    "tool_search_call": "arguments",
    "mcp_approval_request": "arguments",
}
"""Where the items that a client acts on say what is to be done."""
PASSIVE = {"message", "reasoning", "mcp_list_tools", "compaction"}
INCOMPLETE = {"max_output_tokens": "max_tokens"}


def is_clients(item: dict[str, Any]) -> bool:
    """Is the client the one who acts on this item?"""
    if item["type"] == "tool_search_call":
        return item.get("execution") == "client"
    return item["type"] in PAYLOAD or item["type"] in ("function_call", "custom_tool_call")


def call_of(item: dict[str, Any]) -> tuple[str, str]:
    """Name and raw arguments of a finished call."""
    if item["type"] == "custom_tool_call":
        return item["name"], item["input"]
    if item["type"] == "function_call":
        return item["name"], item["arguments"] or "{}"
    payload = item[PAYLOAD[item["type"]]]
    return item["type"], payload if isinstance(payload, str) else canonical(payload)


def alike(call: tuple[str, str]) -> tuple[str, str]:
    """A call whose arguments do not depend on the order in which its provider or an SDK wrote them."""
    name, arguments = call
    return (name, canonical(json.loads(arguments))) if name in PAYLOAD else call


def canonical(value: Any) -> str:
    """JSON as the corpus writes it, whatever order a reader gives its members."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def stop_of(response: dict[str, Any], *, calls: bool) -> str:
    """The normalised stop reason of a terminal response object."""
    reason = (response.get("incomplete_details") or {}).get("reason")
    if reason is None:
        return "tool_use" if calls else "end_turn"
    return INCOMPLETE.get(reason, reason)


def read_event(
    state: CutState, calls: dict[int, OpenCall], event: dict[str, Any], new_call: type[OpenCall]
) -> None:
    kind, index = event["type"], event.get("output_index", -1)
    if kind == "response.output_text.delta":
        state.text += event["delta"]
    elif kind == "response.refusal.delta":
        state.refusal += event["delta"]
    elif kind == "response.output_item.added":
        _open(state, calls, index, event["item"], new_call)
    elif kind in ("response.function_call_arguments.delta", "response.custom_tool_call_input.delta"):
        calls[index].arguments += event["delta"]
    elif kind in ("response.function_call_arguments.done", "response.custom_tool_call_input.done"):
        calls[index].arguments = event.get("arguments", event.get("input"))
        calls[index].closed = True
    elif kind == "response.output_item.done" and index in calls:
        calls[index].name, calls[index].arguments = call_of(event["item"])
        calls[index].closed = True
    elif kind in ("response.completed", "response.incomplete"):
        state.stops[0] = stop_of(event["response"], calls=bool(state.calls))
        state.ended = True
    elif kind == "response.failed":
        state.error = str(event["response"]["error"])
    elif kind == "response.created":
        state.ids.append(event["response"]["id"])


def _open(
    state: CutState, calls: dict[int, OpenCall], index: int, item: dict[str, Any], new_call: type[OpenCall]
) -> None:
    if is_clients(item):
        json_pieces = item["type"] == "function_call"
        calls[index] = new_call(item["type"] if item["type"] in PAYLOAD else item["name"], json=json_pieces)
        state.calls.append(calls[index])
    elif item["type"] not in PASSIVE:
        state.server_item = True
