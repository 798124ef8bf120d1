"""OpenAI Responses requests: what is read from them and how the rest of an answer is asked for."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from seamstream.recovery.continuation import ProfileBook
from seamstream.recovery.continuation.build import Continuation, build_continuation, fitting_strategies
from seamstream.recovery.continuation.request import RequestFacts, read_request
from seamstream.recovery.policy import RecoveryPolicy
from tests.recovery.made import snapshot

QUESTION = {"role": "user", "content": [{"type": "input_text", "text": "Tides?"}]}
RESULT = {"type": "function_call_output", "call_id": "call_1", "output": "06:42"}


def base(**fields: Any) -> bytes:
    return orjson.dumps({"model": "m", "stream": True, "input": "Tides?", **fields})


def read(**fields: Any) -> RequestFacts:
    return read_request("openai-responses", base(**fields))


def build(body: bytes, text: str = "Low tide is at", produced_tokens: int = 0) -> Continuation:
    facts = read_request("openai-responses", body)
    turn = snapshot(text=text)
    return build_continuation("prompt", body, facts, turn, RecoveryPolicy(), produced_tokens=produced_tokens)


@pytest.mark.parametrize("given", ["Tides?", [QUESTION], [QUESTION, RESULT], []])
def test_text_or_items_are_fit(given: Any) -> None:
    assert read(input=given).unfit is None


def test_input_may_stand_elsewhere() -> None:
    body = orjson.dumps({"model": "m", "stream": True, "previous_response_id": "resp_1"})
    assert read_request("openai-responses", body).unfit is None
    assert [item["role"] for item in orjson.loads(build(body).body)["input"]] == ["assistant", "user"]


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"input": 3}, "the request's input is neither text nor a list of items"),
        ({"input": ["x"]}, "the request's input is neither text nor a list of items"),
        ({"text": {"format": {"type": "json_schema", "name": "n"}}}, "structured output was asked for"),
        ({"text": {"format": {"type": "json_object"}}}, "structured output was asked for"),
        ({"top_logprobs": 2}, "logprobs were asked for"),
        ({"include": ["message.output_text.logprobs"]}, "logprobs were asked for"),
        ({"tool_choice": "required"}, "a tool call was forced"),
        ({"tool_choice": {"type": "function", "name": "f"}}, "a tool call was forced"),
        ({"tool_choice": {"type": "allowed_tools", "mode": "required"}}, "a tool call was forced"),
        ({"background": True}, "the provider keeps the conversation or runs it in the background"),
        ({"conversation": "conv_1"}, "the provider keeps the conversation or runs it in the background"),
    ],
)
def test_what_cannot_be_continued(fields: dict[str, Any], reason: str) -> None:
    assert read(**fields).unfit == reason


@pytest.mark.parametrize(
    "fields",
    [
        {"text": {"format": {"type": "text"}, "verbosity": "low"}},
        {"include": ["reasoning.encrypted_content"], "store": False},
        {"tool_choice": {"type": "allowed_tools", "mode": "auto"}},
        {"tool_choice": "none", "top_logprobs": 0, "background": False},
        {"reasoning": {"effort": "high"}, "previous_response_id": "resp_0"},
    ],
)
def test_what_can_be_continued(fields: dict[str, Any]) -> None:
    assert read(**fields).unfit is None


@pytest.mark.parametrize(
    ("given", "first"),
    [
        ("Tides?", [{"role": "user", "content": "Tides?"}]),
        ([QUESTION, RESULT], [QUESTION, RESULT]),
        (
            [QUESTION, {"role": "assistant", "content": "Hm."}],
            [QUESTION, {"role": "assistant", "content": "Hm."}],
        ),
    ],
)
def test_the_answer_and_the_question_for_the_rest_stand_behind_the_input(given: Any, first: Any) -> None:
    continuation = build(base(input=given, instructions="Be brief.", tools=[{"type": "function"}]))
    document = orjson.loads(continuation.body)
    *before, answer, follow_up = document["input"]
    assert before == first
    assert answer == {"role": "assistant", "content": "Low tide is at"}
    assert follow_up["role"] == "user"
    assert '"Low tide is at"' in follow_up["content"]
    assert not continuation.exact
    assert {**document, "input": given} == orjson.loads(
        base(input=given, instructions="Be brief.", tools=[{"type": "function"}])
    )


@pytest.mark.parametrize(("limit", "produced", "sent"), [(100, 40, 64), (100, 95, 16), (12, 4, 12)])
def test_the_limit_is_lowered_but_never_below_what_is_accepted(limit: int, produced: int, sent: int) -> None:
    body = base(max_output_tokens=limit)
    assert orjson.loads(build(body, produced_tokens=produced).body)["max_output_tokens"] == sent


def test_nothing_is_left_of_the_limit() -> None:
    assert build(base(max_output_tokens=40), produced_tokens=40).length_exhausted


def test_only_a_prompt_goes_on() -> None:
    known = ProfileBook().strategies(host="h", dialect="openai-responses", model="claude-3", now=0.0)
    assert known == ("prompt",)
    assert fitting_strategies(("prefill", "prompt"), read()) == ("prompt",)
