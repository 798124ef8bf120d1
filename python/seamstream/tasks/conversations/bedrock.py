"""Messages of Amazon Bedrock's Converse: blocks, with the tools in a member of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...recovery.continuation.dialects.bedrock import reasoning_block
from ..records import ToolInvocation, TurnRecord
from ..tools import Tool
from .base import Answered, Conversation, Message, arguments_of


class BedrockConversation(Conversation):
    """Bedrock. Signed reasoning stands first, as Claude wants it."""

    def declare(self, document: dict[str, Any], tools: list[dict[str, Any]]) -> None:
        config = document.get("toolConfig") or {}
        document["toolConfig"] = {**config, "tools": [*config.get("tools", ()), *tools]}

    def declared(self, tool: Tool) -> dict[str, Any]:
        schema = {"json": dict(tool.parameters)}
        about = {"description": tool.description} if tool.description else {}
        return {"toolSpec": {"name": tool.name, **about, "inputSchema": schema}}

    def assistant(self, turn: TurnRecord, calls: Sequence[ToolInvocation]) -> list[Message]:
        blocks: list[Message] = [reasoning_block(block) for block in turn.signed_thinking]
        if turn.text.strip():
            blocks.append({"text": turn.text})
        for call in calls:
            used = {"toolUseId": call.call_id, "name": call.tool_name, "input": arguments_of(call)}
            blocks.append({"toolUse": used})
        return [{"role": "assistant", "content": blocks}]

    def answers(self, answers: Sequence[Answered], hints: Sequence[str]) -> list[Message]:
        results = [{"toolResult": _result(each)} for each in answers]
        return [{"role": "user", "content": [*results, *({"text": hint} for hint in hints)]}]


def _result(answered: Answered) -> Message:
    return {
        "toolUseId": answered.call.call_id,
        "content": [{"text": answered.text}],
        "status": "error" if answered.failed else "success",
    }
