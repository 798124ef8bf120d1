"""The best that a careful Python program does by hand: split at blank lines, decode structs with msgspec.

It knows only the happy path: LF line ends, one data line an event, one choice, no limits. Tool arguments are
read once, when the provider closes the call.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from bench.payloads import Expected


class Function(msgspec.Struct):
    name: str | None = None
    arguments: str | None = None


class ToolCall(msgspec.Struct):
    index: int = 0
    id: str | None = None
    function: Function | None = None


class ChatDelta(msgspec.Struct):
    content: str | None = None
    tool_calls: list[ToolCall] | None = None


class Choice(msgspec.Struct):
    delta: ChatDelta
    finish_reason: str | None = None


class Chunk(msgspec.Struct):
    choices: list[Choice]


class Delta(msgspec.Struct):
    text: str | None = None
    partial_json: str | None = None


class MessageEvent(msgspec.Struct):
    type: str
    index: int = 0
    delta: Delta | None = None


decode_chunk = msgspec.json.Decoder(Chunk).decode
decode_message_event = msgspec.json.Decoder(MessageEvent).decode


def events(reads: Iterable[bytes]) -> Iterator[bytes]:
    rest = b""
    for read in reads:
        *whole, rest = (rest + read).split(b"\n\n")
        yield from whole


def chat_turn(reads: Iterable[bytes]) -> Expected:
    text: list[str] = []
    arguments: dict[int, list[str]] = {}
    for event in events(reads):
        if event == b"data: [DONE]":
            break
        choice = decode_chunk(event[6:]).choices[0]
        if choice.delta.content:
            text.append(choice.delta.content)
        for call in choice.delta.tool_calls or ():
            if call.function is not None and call.function.arguments:
                arguments.setdefault(call.index, []).append(call.function.arguments)
        if choice.finish_reason is not None:
            for parts in arguments.values():
                msgspec.json.decode("".join(parts))
    return Expected("".join(text), "".join(arguments.get(0, ())))


def anthropic_turn(reads: Iterable[bytes]) -> Expected:
    text: list[str] = []
    arguments: dict[int, list[str]] = {}
    for event in events(reads):
        message = decode_message_event(event[event.index(b"data: ") + 6 :])
        if message.type == "content_block_delta" and message.delta is not None:
            if message.delta.text:
                text.append(message.delta.text)
            elif message.delta.partial_json:
                arguments.setdefault(message.index, []).append(message.delta.partial_json)
        elif message.type == "content_block_stop" and message.index in arguments:
            msgspec.json.decode("".join(arguments[message.index]))
        elif message.type == "message_stop":
            break
    return Expected("".join(text), "".join(arguments.get(1, ())))
