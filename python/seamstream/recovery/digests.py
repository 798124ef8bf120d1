"""Short digests by which requests and partial answers are compared without being kept."""

from __future__ import annotations

import hashlib

from ..types import PartialToolCall, Snapshot, ToolCall


def digest(*parts: bytes) -> str:
    """A digest of the parts and of where they end."""
    state = hashlib.blake2b(digest_size=16)
    for part in parts:
        state.update(len(part).to_bytes(8, "big"))
        state.update(part)
    return state.hexdigest()


def content_digest(snapshot: Snapshot) -> str:
    """A digest of all that the model said in this turn; ids are left out, each attempt has its own."""
    said = [snapshot.text, snapshot.reasoning, snapshot.refusal]
    calls: list[ToolCall | PartialToolCall] = [*snapshot.completed_tool_calls, *snapshot.in_flight_tools]
    for call in calls:
        said += [call.name, call.arguments]
    return digest(*(text.encode("utf-8", "surrogatepass") for text in said))
