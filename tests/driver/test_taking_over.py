"""A run that another process goes on with: from every place of an answer, through the same planner."""

from __future__ import annotations

import dataclasses
import json
from typing import Any, get_args

import pytest

from seamstream import RecoveryPolicy, StreamCutError
from seamstream.driver.replaying import replay
from seamstream.effects import DONE, Opened, Read
from seamstream.stores.checkpoints import StreamCheckpoint
from seamstream.testing import Answer, DeterministicModel, Dialect, Reasoning, Text, Tool, tokens
from seamstream.types import Finish, PartialToolCall, Snapshot, TextDelta, ToolCall, ToolCallReady
from tests.driver.playing import HEALTHY, QUESTION, Reply, Stage, cut

DIALECTS: tuple[Dialect, ...] = get_args(Dialect)
WHOLE_CALLS = ("gemini", "ollama")
"""There the pieces of a call's arguments, if there are any, are not in the turn before it is over."""
TEXT = Answer((Text(tokens("Salt comes from the rocks, by way of the rivers — drop by drop.")),))
THOUGHT = Answer((Reasoning(tokens("Rocks? Rivers? Both.")), *TEXT.parts))
CALLS = Answer(
    (Text(tokens("I look twice.")), Tool("look", ('{"at":', "1}")), Tool("look", ('{"at":', '"no', 'rth"}')))
)


def checkpoint_after(dialect: Dialect, model: DeterministicModel, events: int) -> StreamCheckpoint:
    """What a process has stored when it dies behind so many events."""
    stage = Stage(dialect, model=model, reader="typed", checkpoint_key="run-1")
    steps = stage.driver.steps()
    next(steps)
    effect = steps.send(Opened(200, {}, True))
    while not isinstance(effect, Read):
        effect = steps.send(DONE)
    for event in model.reply(dialect, QUESTION).events[:events]:
        stage.driver.intake.receive(event)
    checkpoint = stage.driver.checkpoint()
    assert checkpoint is not None
    return StreamCheckpoint.from_json(checkpoint.to_json())


def take_over(
    dialect: Dialect, model: DeterministicModel, checkpoint: StreamCheckpoint, *replies: Reply
) -> Stage:
    stage = Stage(
        dialect, model=model, reader="typed", checkpoint=checkpoint, checkpoint_key="run-1", epoch=2
    )
    return stage, stage.play(*(replies or (HEALTHY,)))


@pytest.mark.parametrize("answer", [TEXT, THOUGHT, CALLS], ids=["text", "reasoning", "calls"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_new_reader_gets_the_whole_answer_from_every_place(dialect: Dialect, answer: Answer) -> None:
    model = DeterministicModel(answer)
    whole = [(part.name, "".join(part.pieces)) for part in answer.parts if isinstance(part, Tool)]
    count = len(model.reply(dialect, QUESTION).events)
    assert count > 3
    for events in range(count + 1):
        checkpoint = checkpoint_after(dialect, model, events)
        stage, result = take_over(dialect, model, checkpoint)
        turn = stage.driver.turn
        assert turn is not None
        assert result.error is None, (events, result.error)
        assert type(result.events[-1]) is Finish
        text = "".join(event.text for event in result.events if isinstance(event, TextDelta))
        assert text == turn.text == answer.text, events
        ready = [(event.name, event.arguments) for event in result.events if isinstance(event, ToolCallReady)]
        assert ready == whole[: len(ready)], events
        assert [(call.name, call.arguments) for call in turn.tool_calls] == ready
        if len(ready) < len(whole):
            assert turn.outcome.plan == "R2"
        assert "ResumedFromCheckpoint" in turn.outcome.causes


def test_the_books_go_on() -> None:
    model = DeterministicModel(TEXT)
    checkpoint = checkpoint_after("anthropic", model, 6)
    stage, _ = take_over("anthropic", model, checkpoint)
    turn = stage.driver.turn
    assert turn is not None
    assert [record.number for record in turn.attempts] == [1, 2]
    assert (turn.attempts[0].cause, turn.outcome.attempts) == ("ResumedFromCheckpoint", 2)
    assert [(seam.attempt, seam.cause) for seam in turn.seams] == [(2, "ResumedFromCheckpoint")]


def test_what_was_spent_stays_spent() -> None:
    model = DeterministicModel(TEXT)
    used = Stage(model=model, reader="typed", checkpoint_key="run-1", policy=RecoveryPolicy(max_recoveries=1))
    used.play(cut(6), cut(7))
    checkpoint = used.driver.checkpoint()
    assert checkpoint is not None
    _, result = take_over("openai-chat", model, checkpoint)
    assert isinstance(result.error, StreamCutError)
    assert result.error.code == "budget_exhausted"


def test_a_server_side_tool_under_way_is_not_run_again() -> None:
    model = DeterministicModel(TEXT)
    checkpoint = checkpoint_after("anthropic", model, 6)
    snapshot = dataclasses.replace(checkpoint.snapshot, server_items="open")
    _, result = take_over("anthropic", model, dataclasses.replace(checkpoint, snapshot=snapshot))
    assert isinstance(result.error, StreamCutError)
    assert "server-side" in str(result.error)


@pytest.mark.parametrize("answer", [TEXT, THOUGHT, CALLS], ids=["text", "reasoning", "calls"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_replayed_turn_is_the_stored_one(dialect: Dialect, answer: Answer) -> None:
    model = DeterministicModel(answer)
    for events in range(len(model.reply(dialect, QUESTION).events) + 1):
        stored = checkpoint_after(dialect, model, events).snapshot
        stage = Stage(dialect, reader="typed")
        stage.driver.intake.receive(replay(dialect, stored))
        again = stage.driver.guard.snapshot()
        assert again is not None
        same = ("text", "reasoning", "refusal", "completed_tool_calls", "stop_reason", "signed_thinking")
        assert [getattr(again, name) for name in same] == [getattr(stored, name) for name in same], events
        assert again.in_flight_tools == stored.in_flight_tools
        assert again.completed_tool_calls == stored.completed_tool_calls


@pytest.mark.parametrize("dialect", [each for each in DIALECTS if each not in WHOLE_CALLS])
def test_several_unfinished_calls_stay_unfinished(dialect: Dialect) -> None:
    stored = checkpoint_after(dialect, DeterministicModel(TEXT), 6).snapshot
    halves = (PartialToolCall("a", "look", '{"at": "no'), PartialToolCall("b", "look", '{"at'))
    stored = dataclasses.replace(stored, in_flight_tools=halves)
    stage = Stage(dialect, reader="typed")
    stage.driver.intake.receive(replay(dialect, stored))
    again = stage.driver.guard.snapshot()
    assert again is not None
    assert (again.in_flight_tools, again.completed_tool_calls) == (halves, ())


GEMINI_CALL = {"functionCall": {"name": "look", "willContinue": True}}
GEMINI_PIECE = {
    "functionCall": {"partialArgs": [{"jsonPath": "$.at", "stringValue": "n"}], "willContinue": True}
}


@pytest.mark.parametrize(
    ("reason", "arguments"),
    [(None, ""), ("MAX_TOKENS", "{"), ("SAFETY", "{")],
    ids=["cut", "limit", "filter"],
)
def test_a_call_of_gemini_whose_arguments_came_in_pieces_stays_unfinished(
    reason: str | None, arguments: str
) -> None:
    whole = {"functionCall": {"id": "a", "name": "look", "args": {"at": 1}}}
    stored = received("gemini", gemini_chunk(whole), gemini_chunk(GEMINI_CALL), gemini_chunk(GEMINI_PIECE))
    if reason is not None:
        ending = gemini_chunk({"text": ""}, finishReason=reason)
        stored = received("gemini", replay("gemini", stored), gemini_chunk(GEMINI_PIECE), ending)
    assert stored.in_flight_tools == (PartialToolCall("", "look", arguments),)
    again = received("gemini", replay("gemini", stored))
    assert again.in_flight_tools == stored.in_flight_tools
    assert again.completed_tool_calls == stored.completed_tool_calls == (ToolCall("a", "look", '{"at": 1}'),)
    assert again.stop_reason == stored.stop_reason


def test_a_prompt_that_gemini_blocked_stays_blocked() -> None:
    feedback = {"promptFeedback": {"blockReason": "OTHER"}, "responseId": "r", "modelVersion": "m"}
    stored = received("gemini", b"data: " + json.dumps(feedback).encode() + b"\r\n\r\n")
    again = received("gemini", replay("gemini", stored))
    assert (again.stop_reason, again.raw_stop_reason) == ("content_filter", "OTHER")


@pytest.mark.parametrize("dialect", ["anthropic", "bedrock", "gemini-interactions"])
def test_thinking_is_signed_where_it_was(dialect: Dialect) -> None:
    """A block that a cut left unsigned can stand before one that is whole."""
    stored = checkpoint_after(dialect, DeterministicModel(TEXT), 6).snapshot
    signed = ('{"type":"thinking","thinking":"Both.","signature":"c2ln"}',)
    stored = dataclasses.replace(stored, reasoning="Rocks? Both. No.", signed_thinking=signed)
    again = received(dialect, replay(dialect, stored))
    assert (again.reasoning, again.signed_thinking) == (stored.reasoning, signed)


def received(dialect: Dialect, *chunks: bytes) -> Snapshot:
    stage = Stage(dialect, reader="typed")
    for chunk in chunks:
        stage.driver.intake.receive(chunk)
    snapshot = stage.driver.guard.snapshot()
    assert snapshot is not None
    return snapshot


def gemini_chunk(part: dict[str, Any], **fields: Any) -> bytes:
    candidate = {"content": {"parts": [part], "role": "model"}, **fields}
    return b"data: " + json.dumps({"candidates": [candidate], "responseId": "r"}).encode() + b"\r\n\r\n"


def test_a_stored_turn_is_not_taken_for_a_stream_that_its_server_keeps() -> None:
    model = DeterministicModel(TEXT)
    checkpoint = checkpoint_after("openai-chat", model, 6)
    stage = Stage(
        "openai-chat", model=model, reader="typed", checkpoint=checkpoint, epoch=2, conversation="c-1"
    )
    stage.play(HEALTHY)
    turn = stage.driver.turn
    assert turn is not None
    assert [record.strategy for record in turn.attempts] == [None, "prompt"]
