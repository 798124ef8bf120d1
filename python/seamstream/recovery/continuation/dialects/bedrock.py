"""Requests of Amazon Bedrock's ConverseStream. The path names the model and asks for the stream."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final
from urllib.parse import unquote

import orjson

from ..facts import RequestFacts
from .base import Message, RequestForm, get, positive, strings

_ENDING: Final = "/converse-stream"


class BedrockForm(RequestForm):
    name = "bedrock"
    endings = (_ENDING,)
    media_types = ("application/vnd.amazon.eventstream",)
    limits = (("inferenceConfig", "maxTokens"),)

    def streams(self, path: str, body: bytes) -> bool:
        return True

    def asking_for_stream(self, document: Mapping[str, Any]) -> dict[str, Any]:
        return dict(document)

    def model(self, document: Mapping[str, Any], path: str) -> str:
        """The model, inference profile or ARN, as the path has it."""
        return unquote(path.removesuffix(_ENDING).rpartition("/model/")[2])

    def read(self, document: Mapping[str, Any]) -> dict[str, Any]:
        choice = get(document, "toolConfig", "toolChoice")
        thinking = get(document, "additionalModelRequestFields", "thinking")
        return {
            "structured_output": bool(get(document, "outputConfig", "textFormat")),
            "forced_tool": isinstance(choice, Mapping) and ("any" in choice or "tool" in choice),
            "thinking": get(thinking, "type") not in (None, "disabled"),
            "thinking_budget_tokens": positive(get(thinking, "budget_tokens")) or 0,
            "max_tokens": positive(get(document, "inferenceConfig", "maxTokens")),
            "stop_sequences": strings(get(document, "inferenceConfig", "stopSequences")),
        }

    def with_answer(
        self, messages: Iterable[Message], text: str, signed_thinking: Iterable[str]
    ) -> list[Message]:
        """Signed reasoning stands before the text; unsigned would be refused."""
        result = list(messages)
        blocks = [*map(reasoning_block, signed_thinking), {"text": text}]
        if not result or result[-1].get("role") != "assistant":
            return [*result, {"role": "assistant", "content": blocks}]
        said = list(result[-1].get("content") or ())
        if len(blocks) == 1 and said and "text" in said[-1]:
            said[-1] = {**said[-1], "text": said[-1]["text"] + text}
        else:
            said += blocks
        return [*result[:-1], {**result[-1], "content": said}]

    def with_question(self, messages: Iterable[Message], text: str) -> list[Message]:
        return [*messages, {"role": "user", "content": [{"text": text}]}]

    def prefills(self, facts: RequestFacts) -> bool:
        return not (facts.thinking or facts.structured_output or facts.forced_tool)

    def least_tokens(self, facts: RequestFacts) -> int:
        """Thinking must keep its budget and one token."""
        return facts.thinking_budget_tokens + 1


def reasoning_block(block: str) -> Message:
    """A signed block of thinking, as Converse takes it back."""
    thinking = orjson.loads(block)
    if "data" in thinking:
        return {"reasoningContent": {"redactedContent": thinking["data"]}}
    whole = {"text": thinking.get("thinking", ""), "signature": thinking.get("signature", "")}
    return {"reasoningContent": {"reasoningText": whole}}
