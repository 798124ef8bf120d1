"""Contents of Gemini's `streamGenerateContent`: turns of parts, where a call goes back with its signature."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..records import ToolInvocation, TurnRecord
from ..tools import Tool
from .base import Answered, Conversation, Message, arguments_of


class GeminiConversation(Conversation):
    """Gemini. Two turns of one role in a row would be refused, so hints stand in the turn of the answers."""

    member = "contents"
    ids = False

    def declare(self, document: dict[str, Any], tools: list[dict[str, Any]]) -> None:
        document["tools"] = [*document.get("tools", ()), {"functionDeclarations": tools}]

    def declared(self, tool: Tool) -> dict[str, Any]:
        schema = dict(tool.parameters)
        return {"name": tool.name, "description": tool.description, "parametersJsonSchema": schema}

    def assistant(self, turn: TurnRecord, calls: Sequence[ToolInvocation]) -> list[Message]:
        """What was thought does not go back; the signatures of the calls stand for it."""
        said = [{"text": turn.text}] if turn.text.strip() else []
        return [{"role": "model", "parts": [*said, *map(_call, calls)]}]

    def answers(self, answers: Sequence[Answered], hints: Sequence[str]) -> list[Message]:
        parts = [{"functionResponse": _response(each)} for each in answers]
        return [{"role": "user", "parts": [*parts, *({"text": hint} for hint in hints)]}]


def _call(call: ToolInvocation) -> Message:
    named = {**_id(call), "name": call.tool_name, "args": arguments_of(call)}
    signed = {"thoughtSignature": call.signature} if call.signature else {}
    return {"functionCall": named, **signed}


def _response(answered: Answered) -> Message:
    told = {"error" if answered.failed else "output": answered.text}
    return {**_id(answered.call), "name": answered.call.tool_name, "response": told}


def _id(call: ToolInvocation) -> Message:
    """Not all of its models give calls an id."""
    return {"id": call.call_id} if call.call_id else {}
