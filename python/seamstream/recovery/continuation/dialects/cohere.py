"""Requests of Cohere's v2 Chat. It documents no way of going on in an assistant turn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..facts import RequestFacts
from .base import RequestForm, get, positive, strings


class CohereForm(RequestForm):
    name = "cohere"
    endings = ("/v2/chat",)

    def read(self, document: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "structured_output": get(document, "response_format", "type") not in (None, "text"),
            "logprobs": bool(document.get("logprobs")),
            "forced_tool": document.get("tool_choice") == "REQUIRED",
            "thinking": get(document, "thinking", "type") not in (None, "disabled"),
            "thinking_budget_tokens": positive(get(document, "thinking", "token_budget")) or 0,
            "max_tokens": positive(document.get("max_tokens")),
            "stop_sequences": strings(document.get("stop_sequences")),
        }

    def least_tokens(self, facts: RequestFacts) -> int:
        """Thinking must keep its budget and one token."""
        return facts.thinking_budget_tokens + 1
