"""Requests of OpenAI Responses: a text or a list of items."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final
from urllib.parse import quote

from ....types import ResumePoint
from ..facts import RequestFacts
from ..route import Route
from .base import Message, RequestForm, get, is_list_of_objects, positive

# OpenAI refuses a lower `max_output_tokens`.
_LEAST_OUTPUT_TOKENS: Final = 16


class ResponsesForm(RequestForm):
    name = "openai-responses"
    endings = ("/responses",)
    limits = (("max_output_tokens",),)
    conversation = "input"

    def problem(self, document: Mapping[str, Any]) -> str | None:
        readable = isinstance(document.get("input", ""), str) or is_list_of_objects(document["input"])
        return None if readable else "the request's input is neither text nor a list of items"

    def read(self, document: Mapping[str, Any]) -> dict[str, Any]:
        included = document.get("include")
        return {
            "structured_output": get(document, "text", "format", "type") not in (None, "text"),
            "logprobs": bool(document.get("top_logprobs"))
            or (isinstance(included, list) and "message.output_text.logprobs" in included),
            "forced_tool": _forces_tool(document.get("tool_choice")),
            "kept_by_server": bool(document.get("background") or document.get("conversation")),
            "resumable": document.get("background") is True and document.get("store") is not False,
            "max_tokens": positive(document.get("max_output_tokens")),
        }

    def messages(self, document: Mapping[str, Any]) -> list[Message]:
        """One text is one user message."""
        given = document.get("input", [])
        return [{"role": "user", "content": given}] if isinstance(given, str) else list(given)

    def with_answer(
        self, messages: Iterable[Message], text: str, signed_thinking: Iterable[str]
    ) -> list[Message]:
        """Messages may follow each other in one turn here, and there is no prefill to extend."""
        return [*messages, {"role": "assistant", "content": text}]

    def resumes(self, facts: RequestFacts, point: ResumePoint, path: str) -> Route | None:
        """A background response is streamed again behind any of its events."""
        if not facts.resumable or not point.response_id or point.event is None:
            return None
        query = (("stream", "true"), ("starting_after", point.event))
        return replace(_of(point, path), query=query)

    def whole(self, facts: RequestFacts, point: ResumePoint, path: str) -> Route | None:
        """Behind five minutes OpenAI streams it no more, but still has it."""
        return _of(point, path) if facts.resumable and point.response_id and point.event else None

    def least_tokens(self, facts: RequestFacts) -> int:
        return _LEAST_OUTPUT_TOKENS


def _of(point: ResumePoint, path: str) -> Route:
    return Route(method="GET", path=f"{path}/{quote(point.response_id, safe='')}")


def _forces_tool(choice: Any) -> bool:
    if not isinstance(choice, dict):
        return bool(choice == "required")
    return choice.get("type") != "allowed_tools" or choice.get("mode") == "required"
