"""Requests of Ollama's own protocol: `/api/chat` with messages, `/api/generate` with one prompt.

A prompt goes through the model's template, so there is no turn to go on in; only a raw one, which goes to
the model as it is, can be continued by making it longer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..facts import RequestFacts
from .base import Message, RequestForm, get, positive, strings


class OllamaForm(RequestForm):
    name = "ollama"
    endings = ("/api/chat", "/api/generate")
    media_types = ("application/x-ndjson",)
    limits = (("options", "num_predict"),)
    streams_unasked = True

    def problem(self, document: Mapping[str, Any]) -> str | None:
        if "messages" in document:
            return super().problem(document)
        if isinstance(document.get("prompt"), str) and document.get("raw") is True:
            return None
        return "a prompt that goes through a template has no turn to go on in"

    def read(self, document: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "structured_output": bool(document.get("format")),
            "logprobs": bool(document.get("logprobs") or document.get("top_logprobs")),
            "thinking": document.get("think") not in (None, False),
            "bare_prompt": "messages" not in document,
            "max_tokens": positive(get(document, "options", "num_predict")),
            "stop_sequences": strings(get(document, "options", "stop")),
        }

    def messages(self, document: Mapping[str, Any]) -> list[Message]:
        """A raw prompt stands as one turn in whose words the model goes on."""
        if "messages" in document:
            return super().messages(document)
        return [{"role": "assistant", "content": document["prompt"]}]

    def put(self, document: dict[str, Any], messages: Iterable[Message]) -> None:
        if "messages" in document:
            super().put(document, messages)
        else:
            document["prompt"] = "".join(message["content"] for message in messages)

    def prefills(self, facts: RequestFacts) -> bool:
        """A model that was asked to think would begin by thinking."""
        return not facts.thinking

    def prompts(self, facts: RequestFacts) -> bool:
        return not facts.bare_prompt
