"""What all dialects' requests have in common: JSON bodies, and mostly a list of messages with roles."""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Final

from ....types import ResumePoint
from ..facts import Dialect, RequestFacts
from ..route import Route

Message = dict[str, Any]

EVENT_STREAM: Final = "text/event-stream"
# Inside a JSON string the quotes would be escaped, so this finds keys only.
_STREAM_KEY: Final = b'"stream"'
_STREAM: Final = re.compile(rb'"stream"\s*:\s*(true|false)')


class RequestForm(ABC):
    """How requests of one dialect are recognised, read, and written anew to ask for the rest of an answer.

    This base is the most common form; a dialect overrides what it does differently. Lists and messages that
    a caller wrote are never changed in place.
    """

    name: ClassVar[Dialect]
    endings: ClassVar[tuple[str, ...]] = ()
    """How the paths of this dialect's requests end."""
    media_types: ClassVar[tuple[str, ...]] = (EVENT_STREAM,)
    """Content types of its streams."""
    limits: ClassVar[tuple[tuple[str, ...], ...]] = (("max_tokens",),)
    """Where in a request a bound of the output tokens may stand."""
    conversation: ClassVar[str] = "messages"
    """The member that holds the messages."""
    choices_member: ClassVar[str] = ""
    """The member that asks for several choices; empty where only one can be asked for."""
    streams_unasked: ClassVar[bool] = False
    """A request streams unless it says otherwise."""
    resume_patience_s: ClassVar[float] = math.inf
    """How long a stream that was taken up may be silent before its server is asked in another way."""

    def recognises(self, path: str) -> bool:
        """Is this the path of a request for an answer?"""
        return path.endswith(self.endings)

    def streams(self, path: str, body: bytes) -> bool:
        """Does the request ask for a stream? The body is looked at, not parsed: clients write the key near
        its end, so the search begins there.
        """
        at = body.rfind(_STREAM_KEY)
        while at >= 0:
            if found := _STREAM.match(body, at):
                return found[1] == b"true"
            at = body.rfind(_STREAM_KEY, 0, at)
        return self.streams_unasked

    def asking_for_stream(self, document: Mapping[str, Any]) -> dict[str, Any]:
        """The request body that asks for its answer as a stream."""
        return {**document, "stream": True}

    def problem(self, document: Mapping[str, Any]) -> str | None:
        """Why nothing can be put behind the messages of this request."""
        messages = document.get(self.conversation)
        readable = messages and is_list_of_objects(messages)
        return None if readable else f"the request has no list of {self.conversation}"

    def model(self, document: Mapping[str, Any], path: str) -> str:
        """The model asked for, as the caller names it."""
        return text_of(document.get("model"))

    @abstractmethod
    def read(self, document: Mapping[str, Any]) -> dict[str, Any]:
        """The fields of `RequestFacts` that only this dialect knows how to read."""

    def messages(self, document: Mapping[str, Any]) -> list[Message]:
        """The messages of the base request."""
        return list(document[self.conversation])

    def put(self, document: dict[str, Any], messages: Iterable[Message]) -> None:
        """Set the messages of a request in the making."""
        document[self.conversation] = list(messages)

    def with_answer(
        self, messages: Iterable[Message], text: str, signed_thinking: Iterable[str]
    ) -> list[Message]:
        """The messages, ending with an assistant turn of signed thinking (JSON blocks) and `text`.

        A last assistant turn (the caller's own prefill) is extended: two in a row are refused by some servers
        and split by others.
        """
        result = list(messages)
        if result and result[-1].get("role") == "assistant":
            result[-1] = extended(result[-1], text, [])
        else:
            result.append({"role": "assistant", "content": text})
        return result

    def with_question(self, messages: Iterable[Message], text: str) -> list[Message]:
        """The messages, ending with a user turn."""
        return [*messages, {"role": "user", "content": text}]

    def prefills(self, facts: RequestFacts) -> bool:
        """May a trailing assistant turn be gone on with, as far as the request decides that?"""
        return False

    def resumes(self, facts: RequestFacts, point: ResumePoint, path: str) -> Route | None:
        """Where the same response can be had from `point` on, as far as the caller's request allows that.

        `path` is that of the caller's request.
        """
        return None

    def whole(self, facts: RequestFacts, point: ResumePoint, path: str) -> Route | None:
        """Where the same response can be had as a whole, once it is over."""
        return None

    def prompts(self, facts: RequestFacts) -> bool:
        """May a user turn be put behind the answer so far?"""
        return True

    def least_tokens(self, facts: RequestFacts) -> int:
        """The lowest bound of output tokens that a continuation may ask for."""
        return 1

    def lower_limits(self, document: dict[str, Any], facts: RequestFacts, produced: int) -> None:
        """Lower what may still be produced by what was, but never below what the provider accepts."""
        least = self.least_tokens(facts)
        for *outer, name in self.limits:
            holder = get(document, *outer)
            limit = holder.get(name) if isinstance(holder, dict) else None
            if isinstance(limit, int) and not isinstance(limit, bool):
                holder[name] = max(limit - produced, min(limit, least))


def extended(message: Message, text: str, blocks: list[Message]) -> Message:
    """An assistant turn with the answer behind it; a last text block is continued."""
    content = message.get("content")
    if content is None:
        return {**message, "content": contents(blocks, text)}
    if isinstance(content, str) and not blocks:
        return {**message, "content": content + text}
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
    if not blocks and parts and parts[-1].get("type") == "text":
        parts[-1] = {**parts[-1], "text": parts[-1].get("text", "") + text}
        return {**message, "content": parts}
    return {**message, "content": [*parts, *blocks, {"type": "text", "text": text}]}


def contents(blocks: list[Message], text: str) -> str | list[Message]:
    """A turn's content: text alone as a string, else a list of blocks."""
    return [*blocks, {"type": "text", "text": text}] if blocks else text


def is_list_of_objects(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, dict) for item in value)


def get(value: Any, *path: str) -> Any:
    """What stands at the end of the path, None where it does not exist."""
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def positive(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def text_of(value: Any) -> str:
    return value if isinstance(value, str) else ""


def strings(value: Any) -> tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str) and item) if isinstance(value, list) else ()
