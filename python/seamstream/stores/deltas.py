"""Checkpoints as they grow: what one has beyond an earlier one of its run, as few bytes, and back again.

Text, reasoning, refusal and the arguments of calls only grow while nothing is started anew, so a delta holds
their ends; of everything else it holds the fields that changed. A text that did not grow is held whole, in a
list of one. What Anthropic signed stands in the reasoning already, and a block holds only where.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Final

import orjson

from ..errors import StoreError
from ..types import PartialToolCall, Snapshot, ToolCall
from .checkpoints import StreamCheckpoint
from .encoding import decode_record, encode_record

_TEXTS: Final = ("text", "reasoning", "refusal")
_CALLS: Final = ("completed_tool_calls", "in_flight_tools")
_ASIDE: Final = (*_TEXTS, *_CALLS, "signed_thinking")
_MISSING: Final = object()
_Call = ToolCall | PartialToolCall


@dataclass(frozen=True, slots=True)
class CheckpointDelta:
    """What to append to a stored checkpoint. `restarts` and `characters` are those that it has then."""

    restarts: int
    characters: int
    data: bytes

    @classmethod
    def between(cls, before: StreamCheckpoint | None, after: StreamCheckpoint) -> CheckpointDelta:
        """What makes `after` of `before`, or of nothing. The base request is in no delta."""
        change = _changed({} if before is None else _fields(before), _fields(after))
        document = {"fields": change, **_grown(None if before is None else before.snapshot, after.snapshot)}
        data = orjson.dumps({name: value for name, value in document.items() if value})
        return cls(after.restarts, after.characters, data)


def join_deltas(deltas: Iterable[bytes]) -> StreamCheckpoint | None:
    """The checkpoint that all these deltas make, from the first on; None without any. StoreError when they
    make none.
    """
    whole = _Whole()
    try:
        for data in deltas:
            whole.take(orjson.loads(data))
        return whole.checkpoint()
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise StoreError(f"a checkpoint's log cannot be read: {error}") from error


# ---------------------------------------------------------------- taking apart


def _fields(checkpoint: StreamCheckpoint) -> dict[str, Any]:
    """All but what grows."""
    fields: dict[str, Any] = encode_record(replace(checkpoint, base_request=None))
    del fields["base_request"]
    for name in _ASIDE:
        del fields["snapshot"][name]
    return fields


def _changed(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    changed = {}
    for name, value in after.items():
        old = before.get(name, _MISSING)
        if old != value:
            nested = isinstance(old, dict) and isinstance(value, dict)
            changed[name] = _changed(old, value) if nested else value
    return changed


def _grown(before: Snapshot | None, after: Snapshot) -> dict[str, Any]:
    grown: dict[str, Any] = {
        name: _growth("" if before is None else getattr(before, name), getattr(after, name))
        for name in _TEXTS
    }
    if before is None or any(getattr(before, name) != getattr(after, name) for name in _CALLS):
        grown["calls"] = _lists(before, after)
    old = () if before is None else before.signed_thinking
    keeps = not isinstance(grown["reasoning"], list) and after.signed_thinking[: len(old)] == old
    kept = len(old) if keeps else 0
    if (kept, kept) != (len(old), len(after.signed_thinking)):
        grown["signed"] = [kept, *_signed(after, kept)]
    return grown


def _growth(before: str, after: str) -> str | list[str]:
    """The end that is new; the whole in a list if it is no longer what it was."""
    return after[len(before) :] if after.startswith(before) else [after]


def _lists(before: Snapshot | None, after: Snapshot) -> list[Any]:
    """How many complete calls stay as they are, the complete ones behind them, and the unfinished ones."""
    done: tuple[ToolCall, ...] = () if before is None else before.completed_tool_calls
    unfinished: tuple[PartialToolCall, ...] = () if before is None else before.in_flight_tools
    kept = len(done) if after.completed_tool_calls[: len(done)] == done else 0
    calls: list[_Call] = [*done, *unfinished]
    old = list(enumerate(calls))[kept:]
    added = [_call(call, old) for call in after.completed_tool_calls[kept:]]
    return [kept, added, [_call(call, old) for call in after.in_flight_tools]]


def _call(call: _Call, old: list[tuple[int, _Call]]) -> Any:
    """Which of the old calls it was (and no other is then) and how its arguments grew, or all of it; behind
    both the signature, once there is one.
    """
    signature = _signature(call)
    for place, (at, was) in enumerate(old):
        if (was.id, was.name) == (call.id, call.name) and call.arguments.startswith(was.arguments):
            del old[place]
            growth = call.arguments[len(was.arguments) :]
            signed = [signature] if signature != _signature(was) else []
            return [at, growth, *signed] if growth or signed else at
    return [call.id, call.name, call.arguments, *([signature] if signature else [])]


def _signature(call: _Call) -> str:
    return call.signature if isinstance(call, ToolCall) else ""


def _signed(snapshot: Snapshot, kept: int) -> list[Any]:
    blocks, start = [], 0
    for number, raw in enumerate(snapshot.signed_thinking):
        thought = orjson.loads(raw).get("thinking", "")
        before, found, behind = raw.partition(orjson.dumps(thought).decode())
        there = snapshot.reasoning.startswith(thought, start)
        if number >= kept:
            blocks.append([start, len(thought), before, behind] if thought and found and there else raw)
        start += len(thought)
    return blocks


# ---------------------------------------------------------------- putting together


@dataclass(slots=True)
class _Growing:
    """A call, with its arguments in pieces."""

    id: str
    name: str
    pieces: list[str]
    signature: str = ""


def _joined(call: _Growing) -> dict[str, str]:
    return {"id": call.id, "name": call.name, "arguments": "".join(call.pieces)}


class _Whole:
    """What the deltas so far make. Texts stay in pieces until the end, so that each costs only its length."""

    def __init__(self) -> None:
        self._fields: dict[str, Any] = {}
        self._texts: dict[str, list[str]] = {name: [] for name in _TEXTS}
        self._done: list[_Growing] = []
        self._open: list[_Growing] = []
        self._signed: list[Any] = []

    def take(self, document: dict[str, Any]) -> None:
        self._fields = _merged(self._fields, document.get("fields", {}))
        for name in _TEXTS:
            growth = document.get(name, "")
            if isinstance(growth, list):
                self._texts[name] = list(growth)
            elif growth:
                self._texts[name].append(growth)
        if "calls" in document:
            kept, added, unfinished = document["calls"]
            old = [*self._done, *self._open]
            self._done = [*self._done[:kept], *(self._call(entry, old) for entry in added)]
            self._open = [self._call(entry, old) for entry in unfinished]
        if "signed" in document:
            kept, *blocks = document["signed"]
            self._signed = [*self._signed[:kept], *blocks]

    def checkpoint(self) -> StreamCheckpoint | None:
        if not self._fields:
            return None
        texts = {name: "".join(pieces) for name, pieces in self._texts.items()}
        done = [{**_joined(call), "signature": call.signature} for call in self._done]
        calls = dict(zip(_CALLS, (done, list(map(_joined, self._open))), strict=True))
        signed = [self._block(block, texts["reasoning"]) for block in self._signed]
        snapshot = {**self._fields["snapshot"], **texts, **calls, "signed_thinking": signed}
        return decode_record(StreamCheckpoint, {**self._fields, "snapshot": snapshot})

    @staticmethod
    def _call(entry: Any, old: list[_Growing]) -> _Growing:
        if isinstance(entry, int):
            return old[entry]
        first, second, *more = entry
        if isinstance(first, int):
            call = old[first]
            call.pieces.append(second)
            call.signature = more[0] if more else call.signature
            return call
        return _Growing(first, second, [more[0]], *more[1:])

    @staticmethod
    def _block(block: Any, reasoning: str) -> str:
        if isinstance(block, str):
            return block
        start, length, before, behind = block
        return str(before + orjson.dumps(reasoning[start : start + length]).decode() + behind)


def _merged(base: dict[str, Any], change: dict[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for name, value in change.items():
        old = base.get(name)
        nested = isinstance(old, dict) and isinstance(value, dict)
        merged[name] = _merged(old, value) if nested else value  # type: ignore[arg-type]
    return merged
