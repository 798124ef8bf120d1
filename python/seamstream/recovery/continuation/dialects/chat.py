"""Requests of OpenAI Chat Completions and of the many servers that speak it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ..facts import RequestFacts
from .base import RequestForm, get, positive, strings

# Fields by which servers that speak this protocol constrain the whole output to a grammar.
_GRAMMARS: Final = (
    *("guided_json", "guided_regex", "guided_choice", "guided_grammar", "structured_outputs"),
    *("grammar", "json_schema", "regex", "ebnf"),
)


class ChatForm(RequestForm):
    name = "openai-chat"
    endings = ("/chat/completions",)
    limits = (("max_tokens",), ("max_completion_tokens",))
    choices_member = "n"

    def read(self, document: Mapping[str, Any]) -> dict[str, Any]:
        response_type = get(document, "response_format", "type")
        modalities = document.get("modalities")
        bounds = [positive(document.get(name)) for name in ("max_completion_tokens", "max_tokens")]
        stop = document.get("stop")
        return {
            "choices": positive(document.get("n")) or 1,
            "structured_output": response_type not in (None, "text") or any(map(document.get, _GRAMMARS)),
            "logprobs": bool(document.get("logprobs") or document.get("top_logprobs")),
            "forced_tool": _forces_tool(document),
            "audio": bool(document.get("audio")) or (isinstance(modalities, list) and "audio" in modalities),
            "max_tokens": next((bound for bound in bounds if bound is not None), None),
            "stop_sequences": strings([stop] if isinstance(stop, str) else stop),
        }

    def prefills(self, facts: RequestFacts) -> bool:
        return True

    def lower_limits(self, document: dict[str, Any], facts: RequestFacts, produced: int) -> None:
        """Some servers also know a minimum."""
        super().lower_limits(document, facts, produced)
        minimum = document.get("min_tokens")
        if isinstance(minimum, int) and not isinstance(minimum, bool):
            document["min_tokens"] = max(minimum - produced, 0)


def _forces_tool(document: Mapping[str, Any]) -> bool:
    choice = document.get("tool_choice", document.get("function_call"))
    if not isinstance(choice, dict):
        return bool(choice == "required")
    if choice.get("type") == "allowed_tools":
        return bool(get(choice, "allowed_tools", "mode") == "required")
    return True
