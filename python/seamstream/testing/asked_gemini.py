"""What Gemini demands of the turns in a request: roles take turns, and calls come back signed."""

from __future__ import annotations

from typing import Any

from .answer import signature_of_call
from .rejected import RejectedError


def check_gemini_history(body: dict[str, Any]) -> None:
    """Raise RejectedError as Gemini 3 would, which is the strictest of its family."""
    contents = body.get("contents") or []
    for before, turn in zip([None, *contents], contents, strict=False):
        if before is not None and before.get("role", "user") == turn.get("role", "user"):
            raise RejectedError("Please ensure that multiturn requests alternate between user and model.")
        if turn.get("role") == "model":
            _check_calls(turn.get("parts") or [])


def _check_calls(parts: list[dict[str, Any]]) -> None:
    for part in parts:
        call = part.get("functionCall")
        if call is None:
            continue
        signature = part.get("thoughtSignature")
        if signature is None:
            raise RejectedError(
                f"Function call is missing a thought_signature in functionCall parts: {call['name']}"
            )
        if signature != signature_of_call(call.get("args") or {}):
            raise RejectedError("Corrupted thought signature.")
