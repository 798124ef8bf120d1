"""What an SDK's stream tells, folded into the properties that answers are compared by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from openai.lib.streaming.chat import ChatCompletionStreamState

from tests.support.cut_state import Call, whole_arguments

DERIVED = ("text", "input_json", "citation", "thinking", "signature")
"""Events that anthropic's helper adds to those of the wire."""


@dataclass(frozen=True)
class Answer:
    """The part of a turn that Equality compares."""

    text: str
    refusal: str
    calls: tuple[Call, ...]
    stop: str | None


@dataclass(frozen=True)
class Reading:
    """One answer per choice, and what the SDK saw on the way to it; `usage` is input and output tokens."""

    answers: tuple[Answer, ...]
    ids: tuple[str, ...]
    kinds: tuple[str, ...]
    error: str | None
    usage: tuple[int | None, int | None]

    @property
    def answer(self) -> Answer:
        return self.answers[0] if self.answers else Answer("", "", (), None)


class ChatFold:
    """Takes the chunks of openai-python's stream and puts them through its own accumulator."""

    def __init__(self) -> None:
        self._state: ChatCompletionStreamState[Any] = ChatCompletionStreamState()
        self._kinds: list[str] = []
        self._ids: list[str] = []
        self._completion: Any = None
        self._usage: tuple[int | None, int | None] = (None, None)

    def add(self, chunk: Any) -> None:
        if getattr(chunk, "object", None) == "":
            return  # the stream helper skips Azure's annotation chunks in the same way
        self._kinds += [event.type for event in self._state.handle_chunk(chunk) if event.type != "chunk"]
        if chunk.id and chunk.id not in self._ids:
            self._ids.append(chunk.id)
        if chunk.usage is not None:
            self._usage = (chunk.usage.prompt_tokens, chunk.usage.completion_tokens)
        self._completion = self._state.current_completion_snapshot

    def reading(self, error: str | None = None) -> Reading:
        choices = self._completion.choices if self._completion else ()
        answers = tuple(map(_chat_answer, choices))
        return Reading(answers, tuple(self._ids), _collapsed(self._kinds), error, self._usage)


class MessageFold:
    """Takes the events of anthropic's stream helper, whose accumulator also makes the message."""

    def __init__(self) -> None:
        self._kinds: list[str] = []
        self._ids: list[str] = []
        self._arguments: dict[int, str] = {}

    @property
    def begun(self) -> bool:
        return bool(self._ids)

    def add(self, event: Any) -> None:
        if event.type == "content_block_delta":
            self._kinds.append(f"{event.type} {event.delta.type}")
            if event.delta.type == "input_json_delta":
                so_far = self._arguments.get(event.index, "")
                self._arguments[event.index] = so_far + event.delta.partial_json
        elif event.type not in DERIVED:
            self._kinds.append(str(event.type))
        if event.type == "message_start":
            self._ids.append(event.message.id)

    def reading(self, message: Any, error: str | None = None) -> Reading:
        if message is None:
            return Reading((), (), _collapsed(self._kinds), error, (None, None))
        usage = (message.usage.input_tokens, message.usage.output_tokens)
        answers = (_message_answer(message, self._arguments),)
        return Reading(answers, tuple(self._ids), _collapsed(self._kinds), error, usage)


def _collapsed(kinds: list[str]) -> tuple[str, ...]:
    return tuple(kind for at, kind in enumerate(kinds) if at == 0 or kinds[at - 1] != kind)


def _chat_answer(choice: Any) -> Answer:
    message = choice.message
    calls = [
        (call.function.name, whole_arguments(call.function.arguments)) for call in message.tool_calls or []
    ]
    return Answer(message.content or "", message.refusal or "", tuple(calls), choice.finish_reason)


def _message_answer(message: Any, arguments: dict[int, str]) -> Answer:
    text = "".join(block.text for block in message.content if block.type == "text")
    calls = [
        (block.name, whole_arguments(arguments.get(index)))
        for index, block in enumerate(message.content)
        if block.type == "tool_use"
    ]
    return Answer(text, "", tuple(calls), message.stop_reason)
