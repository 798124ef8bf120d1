"""The grammar checks of the protocols that are streams of events find every kind of fault."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.corpus.stream import Dialect
from tests.support.grammar import assert_well_formed

Event = dict[str, Any]


def chat(delta: Event, finish: str | None = None, **fields: Any) -> Event:
    return {"id": "c", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **fields}


def call(index: int, **fields: Any) -> Event:
    return {"tool_calls": [{"index": index, "function": {"arguments": "{}", "name": "f"}, **fields}]}


HI, STOP = chat({"content": "a"}), chat({}, "stop")
CHAT: dict[str, list[Event]] = {
    "no end": [HI],
    "a second message": [HI, {**STOP, "id": "d"}],
    "text behind the end": [HI, STOP, HI],
    "two ends": [HI, STOP, STOP],
    "an error inside": [HI, {"error": {}}, STOP],
    "a call that is left out": [chat(call(1, id="x")), STOP],
    "a call without an id": [chat(call(0)), STOP],
    "a call without a name": [chat({"tool_calls": [{"index": 0, "id": "x", "function": {}}]}), STOP],
}


def block(kind: str, index: int, **fields: Any) -> Event:
    return {"type": f"content_block_{kind}", "index": index, **fields}


START: Event = {"type": "message_start", "message": {"id": "m"}}
OPEN, SHUT = block("start", 0, content_block={"type": "text"}), block("stop", 0)
SAID = block("delta", 0, delta={"type": "text_delta", "text": "a"})
FED = block("delta", 0, delta={"type": "input_json_delta", "partial_json": "{}"})
ENDS: list[Event] = [
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
    {"type": "message_stop"},
]
MESSAGES: dict[str, list[Event]] = {
    "no start": [OPEN, SAID, SHUT, *ENDS],
    "two starts": [START, START, OPEN, SAID, SHUT, *ENDS],
    "no end": [START, OPEN, SAID, SHUT],
    "no stop reason": [START, OPEN, SAID, SHUT, ENDS[1]],
    "two ends": [START, OPEN, SAID, SHUT, *ENDS, ENDS[1]],
    "an error inside": [START, OPEN, SAID, SHUT, {"type": "error"}, *ENDS],
    "an open block": [START, OPEN, SAID, *ENDS],
    "a block inside another": [START, OPEN, block("start", 1, content_block={"type": "text"}), SHUT, *ENDS],
    "a number twice": [START, OPEN, SHUT, OPEN, SHUT, *ENDS],
    "a number left out": [START, block("start", 1, content_block={"type": "text"}), block("stop", 1), *ENDS],
    "a piece of nothing": [START, OPEN, SHUT, SAID, *ENDS],
    "a piece of another block": [START, OPEN, {**SAID, "index": 1}, SHUT, *ENDS],
    "arguments inside text": [START, OPEN, FED, SHUT, *ENDS],
    "a block behind the reason": [START, ENDS[0], OPEN, SHUT, *ENDS],
}


def gemini(part: Event, finish: str | None = None, **fields: Any) -> Event:
    reason = {"finishReason": finish} if finish else {}
    return {"candidates": [{"content": {"parts": [part]}, **reason}], "responseId": "r", **fields}


PIECE = gemini({"functionCall": {"partialArgs": []}})
BOTH = gemini({"functionCall": {"name": "f", "args": {}, "partialArgs": []}})
GEMINI: dict[str, list[Event]] = {
    "nothing": [{"responseId": "r"}],
    "no end": [gemini({"text": "a"})],
    "two ends": [gemini({"text": "a"}, "STOP"), gemini({"text": ""}, "STOP")],
    "text behind the end": [gemini({"text": "a"}, "STOP"), gemini({"text": "b"})],
    "a second response": [gemini({"text": "a"}), gemini({"text": ""}, "STOP", responseId="s")],
    "an error inside": [gemini({"text": "a"}), {"error": {}}, gemini({"text": ""}, "STOP")],
    "a piece of no call": [PIECE, gemini({"text": ""}, "STOP")],
    "a call in two forms": [BOTH, gemini({"text": ""}, "STOP")],
}

MESSAGE = {"id": "i", "type": "message", "content": [{"type": "output_text", "text": "a"}]}
PLACE: Event = {"item_id": "i", "output_index": 0, "content_index": 0}
CREATED: Event = {"type": "response.created", "response": {"id": "r"}}
ADDED: Event = {"type": "response.output_item.added", "output_index": 0, "item": {"id": "i"}}
PART: Event = {"type": "response.content_part.added", **PLACE, "part": {"type": "output_text"}}
TEXT: Event = {"type": "response.output_text.delta", **PLACE, "delta": "a"}
TEXT_DONE: Event = {"type": "response.output_text.done", **PLACE, "text": "a"}
PART_DONE: Event = {"type": "response.content_part.done", **PLACE, "part": MESSAGE["content"][0]}  # type: ignore[index]
DONE: Event = {"type": "response.output_item.done", "output_index": 0, "item": MESSAGE}
OVER: Event = {"type": "response.completed", "response": {"id": "r", "output": [MESSAGE]}}
WHOLE = [CREATED, ADDED, PART, TEXT, TEXT_DONE, PART_DONE, DONE, OVER]


def changed(event: Event, **fields: Any) -> list[Event]:
    """The whole stream with one event changed."""
    return [{**each, **fields} if each is event else each for each in WHOLE]


def without(*events: Event) -> list[Event]:
    return [each for each in WHOLE if not any(each is event for event in events)]


ARGUMENTS: Event = {"type": "response.function_call_arguments.done", "item_id": "i", "output_index": 0}
FED_CALL: Event = {"type": "response.function_call_arguments.delta", "item_id": "i", "output_index": 0}
RESPONSES: dict[str, list[Event]] = {
    "no end": without(OVER),
    "two ends": [*WHOLE, OVER],
    "an error inside": [*WHOLE[:3], {"type": "error"}, *WHOLE[3:]],
    "a second response": changed(OVER, response={"id": "s", "output": [MESSAGE]}),
    "two beginnings": [CREATED, *WHOLE],
    "numbers with a gap": [{**each, "sequence_number": 2 * at} for at, each in enumerate(WHOLE)],
    "an item twice": [*WHOLE[:-1], ADDED, OVER],
    "an id twice": [*WHOLE[:-1], {**ADDED, "output_index": 1}, OVER],
    "an item that stays open": without(DONE),
    "an item that is missing at the end": changed(OVER, response={"id": "r", "output": []}),
    "text behind the end of its item": [*WHOLE[:-1], TEXT, OVER],
    "text of another item": changed(TEXT, item_id="j"),
    "text of another content": changed(TEXT, content_index=1),
    "text outside a content": [CREATED, ADDED, TEXT, *WHOLE[2:]],
    "content that stays open": without(PART_DONE),
    "content opened twice": [*WHOLE[:3], PART, *WHOLE[3:]],
    "content with a wrong number": changed(PART, content_index=1),
    "content that says something else": changed(PART_DONE, part={"type": "output_text", "text": "b"}),
    "text that says something else": changed(TEXT_DONE, text="b"),
    "an item that says something else": changed(TEXT, delta="b")[:4] + without(TEXT_DONE, PART_DONE)[4:],
    "an item under another id": changed(DONE, item={**MESSAGE, "id": "j"}),
    "arguments that say something else": [
        *(CREATED, ADDED, {**FED_CALL, "delta": "{"}, {**ARGUMENTS, "arguments": "{}"}, *WHOLE[2:])
    ],
}


def step(stage: str, index: int = 0) -> Event:
    return {"event_type": f"step.{stage}", "index": index}


BEGUN: Event = {"event_type": "interaction.created"}
ENDED: Event = {"event_type": "interaction.completed"}
STEP = [step("start"), step("delta"), step("stop")]
INTERACTIONS: dict[str, list[Event]] = {
    "no end": [BEGUN, *STEP],
    "two ends": [BEGUN, *STEP, ENDED, ENDED],
    "two beginnings": [BEGUN, BEGUN, *STEP, ENDED],
    "a step behind the end": [BEGUN, ENDED, *STEP],
    "an error inside": [BEGUN, *STEP, {"event_type": "error"}, ENDED],
    "an open step": [BEGUN, *STEP[:2], ENDED],
    "a step inside another": [BEGUN, STEP[0], step("start", 1), STEP[2], ENDED],
    "a piece of nothing": [BEGUN, *STEP, STEP[1], ENDED],
    "a number left out": [BEGUN, step("start", 1), step("stop", 1), ENDED],
    "a number twice": [BEGUN, *STEP, *STEP, ENDED],
}
FAULTS: dict[Dialect, dict[str, list[Event]]] = {
    "openai-chat": CHAT,
    "anthropic": MESSAGES,
    "gemini": GEMINI,
    "openai-responses": RESPONSES,
    "gemini-interactions": INTERACTIONS,
}
HEALTHY: dict[Dialect, list[Event]] = {
    "openai-chat": [HI, STOP],
    "anthropic": [START, OPEN, SAID, SHUT, *ENDS],
    "gemini": [gemini({"text": "a"}, "STOP")],
    "openai-responses": WHOLE,
    "gemini-interactions": [BEGUN, *STEP, ENDED],
}


def sse(events: list[Event]) -> bytes:
    return "".join(f"data: {json.dumps(event)}\n\n" for event in events).encode()


@pytest.mark.parametrize("dialect", HEALTHY)
def test_what_the_faults_are_made_from_is_well_formed(dialect: Dialect) -> None:
    assert_well_formed(dialect, sse(HEALTHY[dialect]), whole=True)


@pytest.mark.parametrize(
    ("dialect", "fault"), [(dialect, fault) for dialect in FAULTS for fault in FAULTS[dialect]]
)
def test_every_fault_is_found(dialect: Dialect, fault: str) -> None:
    with pytest.raises(AssertionError):
        assert_well_formed(dialect, sse(FAULTS[dialect][fault]), whole=True)


def test_an_event_under_the_name_of_another_is_found() -> None:
    wrong = sse(HEALTHY["anthropic"]).replace(b"data:", b"event: message_stop\ndata:", 1)
    with pytest.raises(AssertionError):
        assert_well_formed("anthropic", wrong, whole=True)
