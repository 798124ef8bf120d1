"""Requests of Gemini `streamGenerateContent`: turns of parts, with the model in the URL."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from ..facts import RequestFacts
from .base import Message, RequestForm, get, positive, strings

_MODEL: Final = re.compile(r"models/([^/:]+):")
_TEXT: Final = ("TEXT", "MODALITY_UNSPECIFIED")


class GeminiForm(RequestForm):
    name = "gemini"
    endings = (":streamGenerateContent",)
    limits = (("generationConfig", "maxOutputTokens"),)
    conversation = "contents"
    choices_member = "candidateCount"

    def streams(self, path: str, body: bytes) -> bool:
        """The path says it; without `alt=sse` the answer is one JSON array, which passes untouched."""
        return True

    def asking_for_stream(self, document: Mapping[str, Any]) -> dict[str, Any]:
        return dict(document)

    def model(self, document: Mapping[str, Any], path: str) -> str:
        found = _MODEL.search(path)
        return found[1] if found else ""

    def read(self, document: Mapping[str, Any]) -> dict[str, Any]:
        config = get(document, "generationConfig") or {}
        thinking = get(config, "thinkingConfig") or {}
        budget = positive(get(thinking, "thinkingBudget")) or 0
        modalities = get(config, "responseModalities") or ()
        return {
            "choices": positive(get(config, "candidateCount")) or 1,
            "structured_output": _is_structured(config),
            "logprobs": bool(get(config, "responseLogprobs")),
            "forced_tool": get(document, "toolConfig", "functionCallingConfig", "mode") == "ANY",
            "audio": any(modality not in _TEXT for modality in modalities),
            "thinking": bool(thinking) and get(thinking, "thinkingBudget") != 0,
            "thinking_budget_tokens": budget,
            "max_tokens": positive(get(config, "maxOutputTokens")),
            "stop_sequences": strings(get(config, "stopSequences")),
        }

    def with_answer(
        self, messages: Iterable[Message], text: str, signed_thinking: Iterable[str]
    ) -> list[Message]:
        """Thoughts do not go back: their signatures belong to whole parts only."""
        result = list(messages)
        if result and result[-1].get("role") == "model":
            result[-1] = _extended(result[-1], text)
        else:
            result.append({"role": "model", "parts": [{"text": text}]})
        return result

    def with_question(self, messages: Iterable[Message], text: str) -> list[Message]:
        return [*messages, {"role": "user", "parts": [{"text": text}]}]

    def prefills(self, facts: RequestFacts) -> bool:
        """A schema and a forced call begin anew with each turn, so nothing goes on under them."""
        return not (facts.structured_output or facts.forced_tool)

    def least_tokens(self, facts: RequestFacts) -> int:
        """Thoughts count as output, so their budget must stay."""
        return facts.thinking_budget_tokens + 1


def _is_structured(config: Mapping[str, Any]) -> bool:
    schemas = ("responseSchema", "responseJsonSchema", "responseFormat")
    return any(config.get(name) for name in schemas) or config.get("responseMimeType") not in (
        *(None, ""),
        "text/plain",
    )


def _extended(message: Message, text: str) -> Message:
    """A model turn with the answer behind it; a last text part is continued."""
    parts = list(message.get("parts") or [])
    if parts and set(parts[-1]) == {"text"}:
        parts[-1] = {"text": parts[-1]["text"] + text}
    else:
        parts.append({"text": text})
    return {**message, "parts": parts}
