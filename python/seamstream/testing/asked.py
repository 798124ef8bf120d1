"""What a request asks the test model for: a new answer, or the rest of one that was cut.

This reads the wire forms by itself and knows nothing of how seamstream writes its continuation requests,
so that a malformed one is noticed here as a provider would notice it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Literal

from ..recovery.continuation.facts import Dialect
from .answer import Answer, signature_of
from .asked_gemini import check_gemini_history
from .rejected import RejectedError

_OF_ITEMS: tuple[Dialect, ...] = ("openai-responses", "gemini-interactions")
"""Dialects whose requests hold a text or a list of items, and where nothing is gone on with."""
_JSON_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Asked:
    """The reply is to begin with `quote` and to go on at character `position` of the answer's text."""

    kind: Literal["base", "prefill", "prompt"]
    position: int = 0
    quote: str = ""


def read_request(
    dialect: Dialect,
    body: dict[str, Any],
    answer: Answer,
    *,
    accepts_prefill: bool,
    accepted_flags: Collection[str] = (),
) -> Asked:
    """Decide what `body` asks for, or raise `RejectedError` with a text such as the vendor's."""
    if dialect == "ollama" and "prompt" in body:
        return _read_bare_prompt(body["prompt"], answer)
    messages = _messages(dialect, body)
    if not messages:
        raise RejectedError("messages: at least one message is required")
    if dialect == "anthropic":
        _check_anthropic_history(messages)
    if dialect == "gemini":
        check_gemini_history(body)
    if messages[-1].get("role") == "assistant" and dialect not in _OF_ITEMS:
        return _read_prefill(
            dialect, body, answer, accepts_prefill=accepts_prefill, accepted_flags=accepted_flags
        )
    if len(messages) > 1 and messages[-2].get("role") == "assistant" and not _calls(messages[-2]):
        return _read_prompt(messages, answer)
    return Asked("base")


def _messages(dialect: Dialect, body: dict[str, Any]) -> list[dict[str, Any]]:
    """The messages of a request; in Responses a text is one, and an item may be something else."""
    if dialect == "gemini":
        return [_turn(content) for content in body.get("contents") or ()]
    if dialect not in _OF_ITEMS:
        return body.get("messages") or []
    given = body.get("input") or []
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given
    return items if dialect == "openai-responses" else [_of_step(item) for item in items]


def _turn(content: dict[str, Any]) -> dict[str, Any]:
    """A turn of Gemini's as the other dialects would write it."""
    parts = content.get("parts") or ()
    blocks = [{"type": "tool_use"} if "functionCall" in part else {"type": "text", **part} for part in parts]
    role = "assistant" if content.get("role") == "model" else "user"
    return {"role": role, "content": [block for block in blocks if not block.get("thought")]}


def _of_step(step: dict[str, Any]) -> dict[str, Any]:
    """A step of an interaction as a turn."""
    roles = {"user_input": "user", "model_output": "assistant"}
    return {"role": roles[step["type"]], **step} if step.get("type") in roles else step


def spoken(message: dict[str, Any]) -> str:
    """The text of a message, with that of a refusal, whether its content is a string or a list of blocks."""
    content = message.get("content") or ""
    if not isinstance(content, str):
        content = "".join(block.get("text") or block.get("refusal") or "" for block in content)
    return content + (message.get("refusal") or "")


def _read_prefill(
    dialect: Dialect,
    body: dict[str, Any],
    answer: Answer,
    *,
    accepts_prefill: bool,
    accepted_flags: Collection[str],
) -> Asked:
    message = _messages(dialect, body)[-1]
    if dialect == "gemini" and not accepts_prefill:
        raise RejectedError("Requests ending with a model turn are not supported.")
    if dialect == "ollama" and not accepts_prefill:
        return Asked("base")  # a template that closes the turn, without a word
    if dialect == "openai-chat":
        flags = _flags(body, message)
        if refused := flags - set(accepted_flags):
            raise RejectedError(f"Unrecognized request argument supplied: '{min(refused)}'")
        if not flags and not accepts_prefill:
            return Asked("base")
    if dialect == "anthropic":
        _check_anthropic_prefill(body, message, accepts_prefill=accepts_prefill)
    if _calls(message):
        raise RejectedError("messages: the final assistant turn holds a tool call without its result")
    prefix = spoken(message)
    _check_prefix(prefix, answer)
    return Asked("prefill", len(prefix))


def _read_bare_prompt(prompt: str, answer: Answer) -> Asked:
    """A text without turns is gone on with where it ends like the answer begins."""
    said = next(
        (at for at in range(len(answer.text), 0, -1) if prompt.endswith(answer.text[:at])),
        0,
    )
    return Asked("prefill", said) if said else Asked("base")


def _flags(body: dict[str, Any], message: dict[str, Any]) -> set[str]:
    """By what fields a chat request says that its last turn is only the beginning."""
    flags = {"prefix"} if message.get("prefix") else set()
    if body.get("continue_final_message"):
        flags.add("continue_final_message")
        if body.get("add_generation_prompt", True):
            raise RejectedError("add_generation_prompt and continue_final_message are mutually exclusive")
    return flags


def _read_prompt(messages: list[dict[str, Any]], answer: Answer) -> Asked:
    """A user message that quotes the end of the assistant turn before it asks for the rest; others do not."""
    prefix, quote = spoken(messages[-2]), _quoted_end(spoken(messages[-1]), spoken(messages[-2]))
    if quote is None:
        return Asked("base")
    blanks = quote[len(quote.rstrip()) :]
    if not prefix.endswith(quote):
        prefix += blanks
    _check_prefix(prefix, answer)
    return Asked("prompt", len(prefix), quote)


def _quoted_end(request: str, prefix: str) -> str | None:
    for literal in reversed(_JSON_STRING.findall(request)):
        try:
            quote = json.loads(literal)
        except ValueError:
            continue
        # Blanks that ended the text may have been stripped from the turn and still stand in the quotation.
        if quote.strip() and prefix.endswith((quote, quote.rstrip())):
            return str(quote)
    return None


def _check_prefix(prefix: str, answer: Answer) -> None:
    if not prefix.strip():
        raise RejectedError("messages: text content blocks must contain non-whitespace text")
    if not answer.text.startswith(prefix):
        raise RejectedError(
            f"messages: the assistant turn is not the beginning of this model's answer: {prefix!r}"
        )


def _calls(message: dict[str, Any]) -> bool:
    content = message.get("content")
    blocks = content if isinstance(content, list) else []
    return bool(message.get("tool_calls")) or any(block.get("type") == "tool_use" for block in blocks)


def _check_anthropic_prefill(body: dict[str, Any], message: dict[str, Any], *, accepts_prefill: bool) -> None:
    if not accepts_prefill:
        raise RejectedError(
            "This model does not support assistant message prefill."
            " The conversation must end with a user message."
        )
    if (body.get("thinking") or {}).get("type") in ("enabled", "adaptive"):
        raise RejectedError("messages: assistant messages cannot be prefilled when thinking is enabled")
    content = message.get("content")
    if isinstance(content, list) and content and content[-1].get("type") == "thinking":
        raise RejectedError("messages: the final block in an assistant message cannot be `thinking`")
    if spoken(message) != spoken(message).rstrip():
        raise RejectedError("messages: final assistant content cannot end with trailing whitespace")


def _check_anthropic_history(messages: list[dict[str, Any]]) -> None:
    for number, message in enumerate(messages):
        content = message.get("content")
        for place, block in enumerate(content if isinstance(content, list) else []):
            where = f"messages.{number}.content.{place}"
            if block.get("type") == "text" and not (block.get("text") or "").strip():
                raise RejectedError(f"{where}: text content blocks must contain non-whitespace text")
            thinking = block.get("thinking", "")
            if block.get("type") == "thinking" and block.get("signature") != signature_of(thinking):
                raise RejectedError(f"{where}: Invalid `signature` in `thinking` block")
