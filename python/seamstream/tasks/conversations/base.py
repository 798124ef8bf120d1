"""What the message logs of all dialects have in common.

A task's messages are built anew from its records for each step. Nothing of a cut ever stands in them: a
recovered turn is one assistant message. That a call was left unfinished is told to the model in the next user
message.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import orjson

from ..records import DurableStep, ToolInvocation, TurnRecord
from ..tools import Tool

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
    ids: ClassVar[bool] = True
    """Answers find their calls by an id."""
    defaults: ClassVar[Mapping[str, Any]] = {}
    """Members that a request gets unless its caller has set them."""

    def request(
        self, base: dict[str, Any], tools: Sequence[Tool], turns: Iterable[tuple[DurableStep, list[Answered]]]
    ) -> dict[str, Any]:
        """The request of the next step: the first one, and each step so far with its answers."""
        messages, used = self.first(base), set[str]()
        for step, answers in turns:
            if step.turn is not None:
                named = [self._named(answered, used) for answered in answers]
                messages += self.assistant(step.turn, [answered.call for answered in named])
                messages += self.answers(named, step.turn.hints)
        document = {**self.defaults, **base, self.member: messages}
        if tools:
            self.declare(document, [self.declared(tool) for tool in tools])
        return document

    def _named(self, answered: Answered, used: set[str]) -> Answered:
        """The call under an id of its own: some servers give none, or one twice, and others refuse that."""
        call = answered.call
        if self.ids and (not call.call_id or call.call_id in used):
            call = replace(call, call_id=f"call_{call.id.replace('-', '_')}")
        used.add(call.call_id)
        return replace(answered, call=call)

    def declare(self, document: dict[str, Any], tools: list[dict[str, Any]]) -> None:
        """Put tools beside those that the caller named itself."""
        document["tools"] = [*document.get("tools", ()), *tools]

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


def arguments_of(call: ToolInvocation) -> dict[str, Any]:
    """The arguments of a call as an object; an empty one in place of what no provider takes back. What was
    wrong with them is told in the call's answer.
    """
    try:
        arguments = orjson.loads(call.arguments or "{}")
    except orjson.JSONDecodeError:
        return {}
    return arguments if isinstance(arguments, dict) else {}
