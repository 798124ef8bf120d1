"""Requests of Anthropic Messages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from ..facts import RequestFacts
from .base import Message, RequestForm, contents, extended, get, positive, strings


class AnthropicForm(RequestForm):
    name = "anthropic"
    endings = ("/messages",)

    def read(self, document: Mapping[str, Any]) -> dict[str, Any]:
        thinking = get(document, "thinking", "type")
        return {
            "structured_output": bool(
                get(document, "output_config", "format") or document.get("output_format")
            ),
            "forced_tool": get(document, "tool_choice", "type") in ("any", "tool"),
            "thinking": thinking not in (None, "disabled"),
            "thinking_budget_tokens": positive(get(document, "thinking", "budget_tokens")) or 0,
            "max_tokens": positive(document.get("max_tokens")),
            "stop_sequences": strings(document.get("stop_sequences")),
        }

    def with_answer(
        self, messages: Iterable[Message], text: str, signed_thinking: Iterable[str]
    ) -> list[Message]:
        """Signed thinking stands before the text, or the provider refuses the turn."""
        result = list(messages)
        blocks: list[Message] = [orjson.loads(block) for block in signed_thinking]
        if result and result[-1].get("role") == "assistant":
            result[-1] = extended(result[-1], text, blocks)
        else:
            result.append({"role": "assistant", "content": contents(blocks, text)})
        return result

    def prefills(self, facts: RequestFacts) -> bool:
        """A prefill is refused with thinking, structured output or a forced tool."""
        return not (facts.thinking or facts.structured_output or facts.forced_tool)

    def least_tokens(self, facts: RequestFacts) -> int:
        """Thinking must keep its budget and one token."""
        return facts.thinking_budget_tokens + 1
