"""What a base request asks for, as far as it decides how its answer may be continued.

Read only after a cut; the request itself is never changed. A body that cannot be read is no reason to fail:
it can still be sent again as it is, but not be continued, and `problem` says why.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

import orjson

Dialect = Literal["openai-chat", "openai-responses", "anthropic"]


@dataclass(frozen=True, slots=True)
class RequestFacts:
    """Facts of a base request. One that was too large to be `retained` cannot be sent again."""

    dialect: Dialect
    retained: bool = True
    problem: str | None = None
    stream: bool = True
    model: str = ""
    choices: int = 1
    structured_output: bool = False
    logprobs: bool = False
    forced_tool: bool = False
    audio: bool = False
    kept_by_server: bool = False
    """The provider keeps the conversation, or the answer goes on at the provider without us."""
    tools_offered: bool = False
    thinking: bool = False
    thinking_budget_tokens: int = 0
    max_tokens: int | None = None
    stop_sequences: tuple[str, ...] = ()

    @property
    def unfit(self) -> str | None:
        """Why the rest of an answer could not be joined to its beginning; None when it could."""
        reasons = {
            "structured output was asked for": self.structured_output,
            "several choices were asked for": self.choices > 1,
            "logprobs were asked for": self.logprobs,
            "a tool call was forced": self.forced_tool,
            "audio was asked for": self.audio,
            "the provider keeps the conversation or runs it in the background": self.kept_by_server,
        }
        return self.problem or next((reason for reason, holds in reasons.items() if holds), None)


def read_request(dialect: Dialect, body: bytes | None) -> RequestFacts:
    """Read the facts from a request body; None stands for a body that was not retained."""
    if body is None:
        return RequestFacts(dialect, retained=False, problem="the request was too large to be kept")
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError:
        return RequestFacts(dialect, problem="the request body is no JSON")
    if not isinstance(document, dict):
        return RequestFacts(dialect, problem="the request body is no JSON object")
    return RequestFacts(
        dialect,
        problem=_problem(dialect, document),
        stream=document.get("stream") is True,
        model=_text(document.get("model")),
        tools_offered=bool(document.get("tools") or document.get("functions")),
        **_READERS[dialect](document),
    )


def _problem(dialect: Dialect, document: Mapping[str, Any]) -> str | None:
    if dialect == "openai-responses":
        readable = isinstance(document.get("input", ""), str) or _is_list_of_objects(document["input"])
        return None if readable else "the request's input is neither text nor a list of items"
    messages = document.get("messages")
    return None if messages and _is_list_of_objects(messages) else "the request has no list of messages"


# Fields by which servers that speak this protocol constrain the whole output to a grammar.
_CHAT_GRAMMARS: Final = (
    *("guided_json", "guided_regex", "guided_choice", "guided_grammar", "structured_outputs"),
    *("grammar", "json_schema", "regex", "ebnf"),
)


def _read_chat(document: Mapping[str, Any]) -> dict[str, Any]:
    response_type = _get(document, "response_format", "type")
    modalities = document.get("modalities")
    limits = [_positive(document.get(name)) for name in ("max_completion_tokens", "max_tokens")]
    stop = document.get("stop")
    return {
        "choices": _positive(document.get("n")) or 1,
        "structured_output": response_type not in (None, "text") or any(map(document.get, _CHAT_GRAMMARS)),
        "logprobs": bool(document.get("logprobs") or document.get("top_logprobs")),
        "forced_tool": _forces_chat_tool(document),
        "audio": bool(document.get("audio")) or (isinstance(modalities, list) and "audio" in modalities),
        "max_tokens": next((limit for limit in limits if limit is not None), None),
        "stop_sequences": _strings([stop] if isinstance(stop, str) else stop),
    }


def _forces_chat_tool(document: Mapping[str, Any]) -> bool:
    choice = document.get("tool_choice", document.get("function_call"))
    if not isinstance(choice, dict):
        return bool(choice == "required")
    if choice.get("type") == "allowed_tools":
        return bool(_get(choice, "allowed_tools", "mode") == "required")
    return True


def _read_anthropic(document: Mapping[str, Any]) -> dict[str, Any]:
    thinking = _get(document, "thinking", "type")
    return {
        "structured_output": bool(_get(document, "output_config", "format") or document.get("output_format")),
        "forced_tool": _get(document, "tool_choice", "type") in ("any", "tool"),
        "thinking": thinking not in (None, "disabled"),
        "thinking_budget_tokens": _positive(_get(document, "thinking", "budget_tokens")) or 0,
        "max_tokens": _positive(document.get("max_tokens")),
        "stop_sequences": _strings(document.get("stop_sequences")),
    }


def _read_responses(document: Mapping[str, Any]) -> dict[str, Any]:
    included = document.get("include")
    return {
        "structured_output": _get(document, "text", "format", "type") not in (None, "text"),
        "logprobs": bool(document.get("top_logprobs"))
        or (isinstance(included, list) and "message.output_text.logprobs" in included),
        "forced_tool": _forces_responses_tool(document.get("tool_choice")),
        "kept_by_server": bool(document.get("background") or document.get("conversation")),
        "max_tokens": _positive(document.get("max_output_tokens")),
    }


def _forces_responses_tool(choice: Any) -> bool:
    if not isinstance(choice, dict):
        return bool(choice == "required")
    return choice.get("type") != "allowed_tools" or choice.get("mode") == "required"


_READERS: Final[dict[Dialect, Callable[[Mapping[str, Any]], dict[str, Any]]]] = {
    "openai-chat": _read_chat,
    "openai-responses": _read_responses,
    "anthropic": _read_anthropic,
}


def _is_list_of_objects(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, dict) for item in value)


def _get(value: Any, *path: str) -> Any:
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _positive(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _strings(value: Any) -> tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str) and item) if isinstance(value, list) else ()
