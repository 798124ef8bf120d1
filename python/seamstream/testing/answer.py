"""The abstract answer that the test model gives: ordered parts, each cut into pieces beforehand.

One piece stands for one token, so counting pieces is counting tokens and nothing here needs a tokenizer.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, replace
from typing import Any, Literal

StopReason = Literal[
    "end_turn", "max_tokens", "stop_sequence", "tool_use", "content_filter", "refusal", "pause_turn"
]

_TOKEN = re.compile(r"\s*\S{1,6}|\s+")


def tokens(text: str) -> tuple[str, ...]:
    """Cut `text` into token-like pieces: at most six visible characters with the blanks before them."""
    return tuple(_TOKEN.findall(text))


def signature_of(thinking: str) -> str:
    """The signature that the test model gives a thinking block, and demands when the block comes back."""
    return "sig_" + hashlib.sha256(thinking.encode()).hexdigest()[:24]


def signature_of_call(arguments: dict[str, Any]) -> str:
    """The signature that it gives a call where calls have one, however their arguments are written."""
    return signature_of(json.dumps(arguments, sort_keys=True))


@dataclass(frozen=True, slots=True)
class Text:
    """Text of the answer."""

    pieces: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Refusal:
    """Text of a refusal: the `refusal` field in chat, plain text in Anthropic."""

    pieces: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Reasoning:
    """Reasoning: `reasoning_content` in chat, a thinking block in Anthropic."""

    pieces: tuple[str, ...]
    signed: bool = True


@dataclass(frozen=True, slots=True)
class Tool:
    """A call of a client-side tool. `pieces` make up its JSON arguments. Without an id one is made."""

    name: str
    pieces: tuple[str, ...] = ()
    id: str = ""


@dataclass(frozen=True, slots=True)
class ServerTool:
    """A tool that the provider runs itself (Anthropic only), with its result unless that is None."""

    name: str
    pieces: tuple[str, ...]
    result: Any = None
    id: str = "srvtoolu_1"

    @property
    def result_type(self) -> str:
        return f"{self.name}_tool_result"


Part = Text | Refusal | Reasoning | Tool | ServerTool
_SPOKEN = (Text, Refusal)


@dataclass(frozen=True, slots=True)
class Answer:
    """One assistant turn. Without `stop`: `tool_use` if a client-side tool is called, else `end_turn`."""

    parts: tuple[Part, ...]
    stop: StopReason | None = None
    stop_sequence: str | None = None

    @property
    def stop_reason(self) -> StopReason:
        if self.stop is not None:
            return self.stop
        return "tool_use" if any(isinstance(part, Tool) for part in self.parts) else "end_turn"

    @property
    def text(self) -> str:
        """All text and refusal text, joined: what a prefix of this answer is compared with."""
        return "".join(piece for part in self.parts if isinstance(part, _SPOKEN) for piece in part.pieces)

    @property
    def piece_count(self) -> int:
        """Tokens of the whole answer."""
        return sum(len(part.pieces) for part in self.parts)

    def after(self, position: int, *, echo: str = "") -> Answer:
        """What is left once `position` characters of the text were said, beginning with `echo`.

        Parts before that place are gone. The part that holds the last character before it speaks the echo.
        """
        left: list[Part] = []
        remaining, echoed = position, not echo
        for part in self.parts:
            if not isinstance(part, _SPOKEN):
                if remaining <= 0:
                    left.append(part)
                continue
            length = sum(map(len, part.pieces))
            rest = _drop(part.pieces, remaining)
            if not echoed and remaining <= length:
                rest, echoed = tokens(echo) + rest, True
            remaining = max(0, remaining - length)
            if rest:
                left.append(replace(part, pieces=rest))
        return replace(self, parts=tuple(left), stop=self.stop_reason)

    def limited(self, max_pieces: int | None) -> Answer:
        """The answer cut off after `max_pieces` tokens, stopped as `max_tokens` if anything is missing."""
        if max_pieces is None or self.piece_count <= max_pieces:
            return self
        kept: list[Part] = []
        room = max_pieces
        for part in self.parts:
            if room <= 0:
                break
            kept.append(replace(part, pieces=part.pieces[:room]))
            room -= len(part.pieces)
        return replace(self, parts=tuple(kept), stop="max_tokens")

    def stopped_before(self, sequences: list[str]) -> Answer:
        """The answer ended before the first stop sequence in one of its text parts."""
        for index, part in enumerate(self.parts):
            if not isinstance(part, Text):
                continue
            text = "".join(part.pieces)
            found = [
                (text.index(sequence), sequence) for sequence in sequences if sequence and sequence in text
            ]
            if found:
                at, sequence = min(found)
                ended = replace(part, pieces=_take(part.pieces, at))
                parts = (*self.parts[:index], *((ended,) if ended.pieces else ()))
                return Answer(parts, stop="stop_sequence", stop_sequence=sequence)
        return self


def _drop(pieces: tuple[str, ...], characters: int) -> tuple[str, ...]:
    for index, piece in enumerate(pieces):
        if characters < len(piece):
            return (piece[max(0, characters) :], *pieces[index + 1 :])
        characters -= len(piece)
    return ()


def _take(pieces: tuple[str, ...], characters: int) -> tuple[str, ...]:
    taken: list[str] = []
    for piece in pieces:
        if characters <= 0:
            break
        taken.append(piece[:characters])
        characters -= len(piece)
    return tuple(taken)
