"""A turn as a reader puts it together, and its tool calls while they grow."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call. `arguments` is the JSON value, or raw text if it is none; `whole`: it may be executed."""

    name: str
    arguments: Any
    whole: bool


@dataclass(slots=True)
class RawCall:
    """One that still grows."""

    name: str = ""
    arguments: str = ""
    closed: bool = False


@dataclass(slots=True)
class ReadTurn:
    """A turn as a reader would put it together. `ended` is the dialect's own proof that it is complete."""

    text: str = ""
    refusal: str = ""
    reasoning: str = ""
    calls: list[Call] = field(default_factory=list)
    stop: str | None = None
    ended: bool = False
    error: dict[str, Any] | None = None
    response_ids: set[str] = field(default_factory=set)


def grow(raw_calls: dict[int, RawCall], index: int, name: str, arguments: str) -> None:
    """More of a call."""
    call = raw_calls.setdefault(index, RawCall())
    call.name += name
    call.arguments += arguments


def close(raw_calls: dict[int, RawCall], *, but: int | None = None) -> None:
    """The calls are over, but for one that may go on."""
    for index, call in raw_calls.items():
        call.closed = call.closed or index != but


def put_together(raw: RawCall) -> Call:
    """A closed call is whole; an open one only when its arguments are an object that says something."""
    try:
        value = json.loads(raw.arguments or "{}")
    except ValueError:
        return Call(raw.name, raw.arguments, whole=raw.closed)
    return Call(raw.name, value, whole=raw.closed or (isinstance(value, dict) and bool(value)))
