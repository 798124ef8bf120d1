"""Deltas: whatever way a turn grows, they make exactly the checkpoint that was put, and cost what is new."""

from __future__ import annotations

import dataclasses
import json
import random

import pytest

from seamstream.errors import StoreError
from seamstream.stores.checkpoints import StreamCheckpoint
from seamstream.stores.deltas import CheckpointDelta, join_deltas
from seamstream.types import AttemptRecord, PartialToolCall, Shown, Snapshot, ToolCall
from tests.recovery.made import EMPTY

WORDS = ("reef ", 'a "quoted" ', "北", "🙂\n", "\\", "\u2028", "", "plain text that is longer ")


def checkpoint(snapshot: Snapshot, **fields: object) -> StreamCheckpoint:
    return StreamCheckpoint("k", "r", "anthropic", 1, snapshot, **fields)  # type: ignore[arg-type]


def history(seed: int) -> list[StreamCheckpoint]:
    """A turn that grows at random: texts, calls side by side, signed thinking, another attempt, restarts."""
    chance, turn, restarts, made = random.Random(seed), EMPTY, 0, []
    for _ in range(chance.randint(1, 25)):
        turn = _grow(chance, turn)
        if chance.random() < 0.08:
            turn, restarts = dataclasses.replace(EMPTY, text="Anew"), restarts + 1
        made.append(checkpoint(turn, restarts=restarts, attempts=(AttemptRecord(restarts + 1, 1.0),)))
    return made


def _grow(chance: random.Random, turn: Snapshot) -> Snapshot:
    word = chance.choice(WORDS)
    step = chance.choice(["text", "reasoning", "refusal", "open", "grow", "close", "sign", "count"])
    open_calls = list(turn.in_flight_tools)
    if step in ("text", "reasoning", "refusal"):
        return dataclasses.replace(turn, **{step: getattr(turn, step) + word})  # type: ignore[arg-type]
    if step == "open":
        call = PartialToolCall(chance.choice(["", "c1", "c2"]), "look", word)
        return dataclasses.replace(turn, in_flight_tools=(*open_calls, call))
    if step in ("grow", "close") and open_calls:
        call = open_calls.pop(chance.randrange(len(open_calls)))
        if step == "grow":
            grown = dataclasses.replace(call, arguments=call.arguments + word)
            return dataclasses.replace(turn, in_flight_tools=(*open_calls, grown))
        done = ToolCall(call.id, call.name, call.arguments or "{}", chance.choice(["", "", "signed"]))
        calls = (*turn.completed_tool_calls, done)
        return dataclasses.replace(turn, in_flight_tools=tuple(open_calls), completed_tool_calls=calls)
    if step == "sign":
        return _signed(turn, json.dumps(turn.reasoning, ensure_ascii=chance.random() < 0.5))
    shown = Shown(text_chars=len(turn.text))
    return dataclasses.replace(turn, bytes_received=turn.bytes_received + 7, shown=shown)


def _signed(turn: Snapshot, thought: str) -> Snapshot:
    known = sum(len(json.loads(block)["thinking"]) for block in turn.signed_thinking)
    rest = json.dumps(json.loads(thought)[known:], ensure_ascii=not thought.isascii())
    block = f'{{"type":"thinking","thinking":{rest},"signature":"s{known}"}}'
    return dataclasses.replace(turn, signed_thinking=(*turn.signed_thinking, block))


def deltas_of(checkpoints: list[StreamCheckpoint]) -> list[CheckpointDelta]:
    before = [None, *checkpoints[:-1]]
    return [CheckpointDelta.between(*pair) for pair in zip(before, checkpoints, strict=True)]


@pytest.mark.parametrize("seed", range(300))
def test_deltas_make_what_was_put(seed: int) -> None:
    checkpoints = history(seed)
    deltas = deltas_of(checkpoints)
    for count in range(1, len(checkpoints) + 1):
        stored, last = checkpoints[count - 1], deltas[count - 1]
        assert join_deltas(delta.data for delta in deltas[:count]) == stored, count
        assert (last.restarts, last.characters) == stored.order[1:]


def test_nothing_makes_nothing() -> None:
    assert join_deltas([]) is None


def test_a_signed_block_does_not_hold_its_thought_again() -> None:
    thought = "salt and rain " * 1000
    turn = dataclasses.replace(EMPTY, reasoning=thought)
    signed = _signed(turn, json.dumps(thought))
    first, second = deltas_of([checkpoint(turn), checkpoint(signed)])
    assert len(second.data) < 150
    assert join_deltas([first.data, second.data]) == checkpoint(signed)


def test_a_small_growth_costs_little() -> None:
    one = checkpoint(dataclasses.replace(EMPTY, text="x" * 100_000, bytes_received=400_000))
    turn = dataclasses.replace(one.snapshot, text="x" * 100_200, bytes_received=400_900, content_deltas=50)
    assert len(CheckpointDelta.between(one, checkpoint(turn)).data) < 200 + 120


@pytest.mark.parametrize(
    "data", [b"[]", b"{", b'{"fields":{}}x', b'{"fields":{"key":1}}', b'{"calls":[0,[3],[]]}']
)
def test_what_is_no_delta_is_an_error(data: bytes) -> None:
    with pytest.raises(StoreError):
        join_deltas([data])
