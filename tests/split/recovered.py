"""Recoveries ready to be fed: the beginning of a stream, and how its model went on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from seamstream.testing.answer import Answer, Text, Tool, tokens
from seamstream.testing.render import render
from tests.corpus import CorpusStream, by_name
from tests.support.cut_state import state_of
from tests.support.turns import turn_of

TEXTS = ("chat_text_long", "chat_text_emoji_cjk", "chat_text_code", "chat_usage_chunks", "chat_crlf_no_space")
MESSAGES = ("anthropic_text_long", "anthropic_text_escapes", "anthropic_thinking_text", "anthropic_pings")
TOOLS = ("chat_text_then_tool", "anthropic_text_then_tool")
QUOTE_CHARS = 60


@dataclass(frozen=True)
class Scene:
    """`first` arrives, is cut, and `second` is the reply to the request for the rest."""

    stream: CorpusStream
    plan: Literal["R1", "R3", "R4"]
    exact: bool
    first: bytes
    second: bytes
    quote: str = ""
    stripped: str = ""

    def __str__(self) -> str:
        return f"{self.stream.name}-{self.plan}-{'prefill' if self.exact else 'prompt'}"


def scenes() -> list[Scene]:
    return [scene for name in (*TEXTS, *MESSAGES, *TOOLS) for scene in _scenes(by_name(name))]


def _scenes(stream: CorpusStream) -> Iterator[Scene]:
    at = int(len(stream.data) * 0.8)
    first = stream.data[:at]
    yield Scene(stream, "R4", exact=False, first=stream.data[:200], second=stream.data)
    state = state_of(stream.dialect, first)
    plan: Literal["R1", "R3"] = "R3" if state.calls else "R1"
    prefix = state.text.rstrip()
    yield Scene(stream, plan, True, first, _rest(stream, prefix, ""), stripped=state.text[len(prefix) :])
    quote = prefix[-QUOTE_CHARS:]
    second = _rest(stream, prefix, quote)
    yield Scene(stream, plan, False, first, second, quote=quote, stripped=state.text[len(prefix) :])


def _rest(stream: CorpusStream, prefix: str, quote: str) -> bytes:
    whole = turn_of(stream.dialect, stream.data).answer
    assert whole.text.startswith(prefix)
    calls = tuple(Tool(name, tokens(arguments)) for name, arguments in whole.calls)
    answer = Answer((Text(tokens(quote + whole.text[len(prefix) :])), *calls))
    return b"".join(render(stream.dialect, answer))
