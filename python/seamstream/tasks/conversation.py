"""The message log of a task in its dialect's own form, built anew from the records for each step.

Nothing of a cut ever stands in it: a recovered turn is one assistant message. That a call was left unfinished
is told to the model in the next user message.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import orjson

from ..errors import ConfigurationError
from .records import DurableStep, ToolInvocation, TurnRecord
from .tools import Tool

Message = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Answered:
    """A tool call and what the model is told of it."""

    call: ToolInvocation
    text: str
    failed: bool


class Conversation(ABC):
    """How one dialect writes tools, an assistant turn and tool results."""

    member: ClassVar[str] = "messages"
    defaults: ClassVar[Mapping[str, Any]] = {}
    """Members that a request gets unless its caller has set them."""

    def request(
        self, base: dict[str, Any], tools: Sequence[Tool], turns: Iterable[tuple[DurableStep, list[Answered]]]
    ) -> dict[str, Any]:
        """The request of the next step: the first one, and each step so far with its answers."""
        messages = self.first(base)
        for step, answers in turns:
            if step.turn is not None:
                messages += self.assistant(step.turn, step.tool_calls)
                messages += self.answers(answers, step.turn.hints)
        document = {**self.defaults, **base, self.member: messages}
        if tools:
            document["tools"] = [*base.get("tools", ()), *map(self.declared, tools)]
        return document

    def first(self, base: dict[str, Any]) -> list[Message]:
        """The messages that the caller wrote."""
        return list(base.get(self.member) or ())

    @abstractmethod
    def declared(self, tool: Tool) -> dict[str, Any]:
        """A tool as the model is told of it."""

    @abstractmethod
    def assistant(self, turn: TurnRecord, calls: Sequence[ToolInvocation]) -> list[Message]:
        """What the model said."""

    @abstractmethod
    def answers(self, answers: Sequence[Answered], hints: Sequence[str]) -> list[Message]:
        """What came of its calls, and of those that were cut off."""


class ChatConversation(Conversation):
    """OpenAI Chat Completions, which report usage only if asked."""

    defaults: ClassVar[Mapping[str, Any]] = {"stream_options": {"include_usage": True}}

    def declared(self, tool: Tool) -> dict[str, Any]:
        function = {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}
        return {"type": "function", "function": function}

    def assistant(self, turn: TurnRecord, calls: Sequence[ToolInvocation]) -> list[Message]:
        said = [
            {
                "id": call.call_id,
                "type": "function",
                "function": {"name": call.tool_name, "arguments": call.arguments},
            }
            for call in calls
        ]
        return [{"role": "assistant", "content": turn.text or None, "tool_calls": said}]

    def answers(self, answers: Sequence[Answered], hints: Sequence[str]) -> list[Message]:
        told: list[Message] = [
            {"role": "tool", "tool_call_id": each.call.call_id, "content": each.text} for each in answers
        ]
        return [*told, *({"role": "user", "content": hint} for hint in hints)]


class AnthropicConversation(Conversation):
    """Anthropic Messages. Signed thinking stands first, or the provider refuses the turn."""

    def declared(self, tool: Tool) -> dict[str, Any]:
        return {"name": tool.name, "description": tool.description, "input_schema": dict(tool.parameters)}

    def assistant(self, turn: TurnRecord, calls: Sequence[ToolInvocation]) -> list[Message]:
        blocks: list[Message] = [orjson.loads(block) for block in turn.signed_thinking]
        if turn.text.strip():
            blocks.append({"type": "text", "text": turn.text})
        blocks += [
            {
                "type": "tool_use",
                "id": call.call_id,
                "name": call.tool_name,
                "input": orjson.loads(call.arguments or "{}"),
            }
            for call in calls
        ]
        return [{"role": "assistant", "content": blocks}]

    def answers(self, answers: Sequence[Answered], hints: Sequence[str]) -> list[Message]:
        blocks: list[Message] = [
            {
                "type": "tool_result",
                "tool_use_id": each.call.call_id,
                "content": each.text,
                "is_error": each.failed,
            }
            for each in answers
        ]
        return [{"role": "user", "content": [*blocks, *({"type": "text", "text": hint} for hint in hints)]}]


class ResponsesConversation(Conversation):
    """OpenAI Responses, with the whole conversation in each request."""

    member = "input"

    def first(self, base: dict[str, Any]) -> list[Message]:
        given = base.get("input") or []
        return [{"role": "user", "content": given}] if isinstance(given, str) else list(given)

    def declared(self, tool: Tool) -> dict[str, Any]:
        return {
            "type": "function",
            "name": tool.name,
            "description": tool.description,
            "parameters": dict(tool.parameters),
        }

    def assistant(self, turn: TurnRecord, calls: Sequence[ToolInvocation]) -> list[Message]:
        said: list[Message] = [{"role": "assistant", "content": turn.text}] if turn.text.strip() else []
        for call in calls:
            named = {"call_id": call.call_id, "name": call.tool_name, "arguments": call.arguments}
            said.append({"type": "function_call", **named})
        return said

    def answers(self, answers: Sequence[Answered], hints: Sequence[str]) -> list[Message]:
        told: list[Message] = [
            {"type": "function_call_output", "call_id": each.call.call_id, "output": each.text}
            for each in answers
        ]
        return [*told, *({"role": "user", "content": hint} for hint in hints)]


_CONVERSATIONS: Final[dict[str, Conversation]] = {
    "openai-chat": ChatConversation(),
    "anthropic": AnthropicConversation(),
    "openai-responses": ResponsesConversation(),
}


def conversation_of(dialect: str) -> Conversation:
    """How a dialect's messages are written; ConfigurationError for one that agents do not speak."""
    try:
        return _CONVERSATIONS[dialect]
    except KeyError:
        known = ", ".join(_CONVERSATIONS)
        raise ConfigurationError(f"agents speak {known}, not {dialect!r}") from None
