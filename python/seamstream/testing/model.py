"""A deterministic model: the same request always gets the same reply.

It plays a provider at the level of requests and replies, without sockets and without time. `FaultServer` puts
it on the network; the exhaustive suites call it directly.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from typing import Any

from ..recovery.continuation.facts import Dialect
from .answer import Answer, Part, Reasoning, Text
from .asked import Asked, read_request
from .personas import Persona, continue_as
from .rejected import RejectedError
from .render import render, render_whole
from .render_options import RenderOptions, compact
from .vendor_errors import error_body


@dataclass(frozen=True, slots=True)
class Reply:
    """An HTTP reply: `events` of a stream, or else a `body`."""

    status: int
    headers: dict[str, str]
    events: list[bytes] = field(default_factory=list)
    body: bytes = b""

    @property
    def payload(self) -> bytes:
        return b"".join(self.events) or self.body


@dataclass(frozen=True, slots=True)
class DeterministicModel:
    """A model that has one answer to give, and a persona for requests that ask for its rest."""

    answer: Answer
    persona: Persona = "plain"
    accepts_prefill: bool = True
    """False: newer Anthropic models (400), OpenAI's chat and some of Ollama's templates (a new answer)."""
    accepted_flags: tuple[str, ...] = ()
    """`prefix`, `continue_final_message`: fields of a chat request by which its last turn is gone on with."""
    echoes_prefix: bool = False
    """Begins with the last turn when it goes on in it, as Mistral did."""
    leading_blanks: str | None = None
    """Replaces the blanks that a continuation begins with."""
    rethinks: Reasoning | None = None
    """Reasoning that comes before the reply to a quoting user message."""
    options: RenderOptions = field(default_factory=RenderOptions)

    def reply(self, dialect: Dialect, body: dict[str, Any]) -> Reply:
        """Answer one request body."""
        try:
            limit = _token_limit(dialect, body)
            asked = read_request(
                *(dialect, body, self.answer),
                accepts_prefill=self.accepts_prefill,
                accepted_flags=self.accepted_flags,
            )
        except RejectedError as error:
            body_400 = error_body(dialect, 400, str(error))
            return Reply(400, {"content-type": "application/json"}, body=body_400)
        said = self._say(asked).stopped_before(_stop_sequences(_settings(dialect, body))).limited(limit)
        options = self._options_for(dialect, body)
        if body.get("stream", dialect in STREAM_UNASKED):
            headers = {"content-type": _STREAM_TYPES.get(dialect, "text/event-stream; charset=utf-8")}
            return Reply(200, headers, events=render(dialect, said, options=options))
        whole = compact(render_whole(dialect, said, options)).encode()
        return Reply(200, {"content-type": "application/json"}, body=whole)

    def _say(self, asked: Asked) -> Answer:
        if asked.kind == "base":
            return self.answer
        if self.echoes_prefix and asked.kind == "prefill":
            return self.answer
        said = continue_as(self.persona, self.answer, asked)
        if self.leading_blanks is not None:
            said = _begin_with(self.leading_blanks, said)
        if self.rethinks is not None and asked.kind == "prompt":
            said = replace(said, parts=(self.rethinks, *said.parts))
        return said

    def _options_for(self, dialect: Dialect, body: dict[str, Any]) -> RenderOptions:
        messages = compact([body.get(name) for name in _ASKED_IN[dialect]])
        others = self.options.others or (self.answer,) * (_choices(dialect, body) - 1)
        wants_usage = bool((body.get("stream_options") or {}).get("include_usage"))
        return replace(
            self.options,
            reply_id=hashlib.sha256(f"{dialect}{messages}".encode()).hexdigest()[:20],
            model=body.get("model") or self.options.model,
            input_tokens=len(messages) // 4 + 1,
            include_usage=self.options.include_usage or wants_usage,
            others=others,
            generates="prompt" in body,
        )


_ASKED_IN: dict[Dialect, tuple[str, str]] = {
    "openai-chat": ("system", "messages"),
    "openai-responses": ("instructions", "input"),
    "anthropic": ("system", "messages"),
    "gemini": ("systemInstruction", "contents"),
    "ollama": ("system", "messages"),
    "cohere": ("system", "messages"),
    "bedrock": ("system", "messages"),
    "gemini-interactions": ("system_instruction", "input"),
}
_STREAM_TYPES: dict[Dialect, str] = {
    "ollama": "application/x-ndjson",
    "bedrock": "application/vnd.amazon.eventstream",
}
STREAM_UNASKED: tuple[Dialect, ...] = ("gemini", "ollama", "bedrock")
"""Dialects whose requests ask for a stream by their path, or by not saying otherwise."""
_SETTINGS_IN: dict[Dialect, str] = {
    "gemini": "generationConfig",
    "gemini-interactions": "generation_config",
    "ollama": "options",
    "bedrock": "inferenceConfig",
}
_LIMITS = (
    "max_completion_tokens",
    "max_tokens",
    "max_output_tokens",
    "maxOutputTokens",
    "num_predict",
    "maxTokens",
)


def _settings(dialect: Dialect, body: dict[str, Any]) -> dict[str, Any]:
    """Where limits and stop sequences stand."""
    member = _SETTINGS_IN.get(dialect)
    return body if member is None else body.get(member) or {}


def _token_limit(dialect: Dialect, request: dict[str, Any]) -> int | None:
    body = _settings(dialect, request)
    name, limit = next(((name, body[name]) for name in _LIMITS if body.get(name) is not None), ("", None))
    if limit is None:
        return None
    least = 16 if dialect == "openai-responses" else 1
    if limit < least:
        raise RejectedError(f"{name}: must be greater than or equal to {least}")
    thinking = (body.get("thinking") or {}).get("budget_tokens") or 0
    if dialect == "anthropic" and limit <= thinking:
        raise RejectedError("`max_tokens` must be greater than `thinking.budget_tokens`")
    return int(limit)


def _stop_sequences(body: dict[str, Any]) -> list[str]:
    given = body.get("stop_sequences") or body.get("stop") or body.get("stopSequences") or []
    return [given] if isinstance(given, str) else list(given)


def _choices(dialect: Dialect, body: dict[str, Any]) -> int:
    settings = _settings(dialect, body)
    return int(settings.get("n") or settings.get("candidateCount") or 1)


def _begin_with(blanks: str, answer: Answer) -> Answer:
    parts: list[Part] = list(answer.parts)
    for index, part in enumerate(parts):
        if isinstance(part, Text) and "".join(part.pieces).strip():
            first, *rest = _without_leading_blanks(part.pieces)
            parts[index] = Text((blanks + first, *rest))
            break
    return replace(answer, parts=tuple(parts))


def _without_leading_blanks(pieces: tuple[str, ...]) -> tuple[str, ...]:
    for index, piece in enumerate(pieces):
        if piece.strip():
            return (piece.lstrip(), *pieces[index + 1 :])
    return ()
