"""Requests of Gemini Interactions: a text or a list of steps; the server keeps them unless told otherwise."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

from ....types import ResumePoint
from ..facts import RequestFacts
from ..route import Route
from .base import Message, RequestForm, get, is_list_of_objects, positive, strings


class InteractionsForm(RequestForm):
    name = "gemini-interactions"
    endings = ("/interactions",)
    limits = (("generation_config", "max_output_tokens"),)
    conversation = "input"
    resume_patience_s = 30.0
    """Streams that were taken up again have been seen to bring two events and then no more."""

    def problem(self, document: Mapping[str, Any]) -> str | None:
        given = document.get("input")
        readable = isinstance(given, str) or _are_steps(given)
        return None if readable else "the request's input is neither text nor a list of steps"

    def read(self, document: Mapping[str, Any]) -> dict[str, Any]:
        config = get(document, "generation_config") or {}
        return {
            "structured_output": bool(document.get("response_format") or document.get("response_mime_type")),
            "forced_tool": _forces_tool(get(config, "tool_choice")),
            "audio": any(kind != "text" for kind in document.get("response_modalities") or ()),
            "kept_by_server": _is_kept(document),
            "resumable": document.get("store") is not False,
            "max_tokens": positive(get(config, "max_output_tokens")),
            "stop_sequences": strings(get(config, "stop_sequences")),
        }

    def resumes(self, facts: RequestFacts, point: ResumePoint, path: str) -> Route | None:
        """A kept interaction is streamed again behind any of its events."""
        if not facts.resumable or not point.response_id or point.event is None:
            return None
        query = (("stream", "true"), ("last_event_id", point.event))
        return Route(method="GET", path=_path_of(point, path), query=query)

    def whole(self, facts: RequestFacts, point: ResumePoint, path: str) -> Route | None:
        if not facts.resumable or not point.response_id:
            return None
        return Route(method="GET", path=_path_of(point, path))

    def messages(self, document: Mapping[str, Any]) -> list[Message]:
        """One text is one step of the user's."""
        given = document["input"]
        return [_step("user_input", given)] if isinstance(given, str) else list(given)

    def with_answer(
        self, messages: Iterable[Message], text: str, signed_thinking: Iterable[str]
    ) -> list[Message]:
        """A step of the model's; there is no prefill to extend."""
        return [*messages, _step("model_output", text)]

    def with_question(self, messages: Iterable[Message], text: str) -> list[Message]:
        return [*messages, _step("user_input", text)]


def _path_of(point: ResumePoint, path: str) -> str:
    return f"{path}/{quote(point.response_id, safe='')}"


def _step(kind: str, text: str) -> Message:
    return {"type": kind, "content": [{"type": "text", "text": text}]}


def _are_steps(given: Any) -> bool:
    """Contents of one user turn may stand there too; nothing can be put behind those."""
    return is_list_of_objects(given) and all(
        "content" in item or str(item.get("type")).endswith(("_call", "_result")) for item in given
    )


def _is_kept(document: Mapping[str, Any]) -> bool:
    """What the server keeps ends there with the text that was cut: going on elsewhere would fork it."""
    told = document.get("store") is False and not document.get("background")
    return not told or document.get("previous_interaction_id") is not None


def _forces_tool(choice: Any) -> bool:
    return "any" in (choice, get(choice, "mode"), get(choice, "allowed_tools", "mode"))
