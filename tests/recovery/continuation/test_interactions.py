"""Requests of Gemini Interactions: what the server keeps is not gone on with elsewhere."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from seamstream.recognise import dialect_of
from seamstream.recovery.continuation.build import build_continuation
from seamstream.recovery.continuation.request import RequestFacts, read_request
from seamstream.recovery.policy import RecoveryPolicy
from tests.recovery.made import snapshot

ASKED = {"model": "gemini-2.5-flash", "input": "Tell me.", "stream": True, "store": False}


def read(**fields: Any) -> RequestFacts:
    return read_request("gemini-interactions", orjson.dumps({**ASKED, **fields}))


def test_the_path_tells_it() -> None:
    headers = {"Content-Type": "application/json"}
    assert dialect_of("POST", "/v1beta/interactions", headers) == "gemini-interactions"
    assert dialect_of("POST", "/v1beta/interactions/v1_x/cancel", headers) is None


def test_a_request_that_the_server_forgets_is_fit() -> None:
    facts = read(generation_config={"max_output_tokens": 80, "stop_sequences": ["END"]})
    assert (facts.unfit, facts.model, facts.max_tokens) == (None, "gemini-2.5-flash", 80)
    assert facts.stop_sequences == ("END",)


@pytest.mark.parametrize(
    "fields",
    [
        {"store": True},
        {"store": None},
        {"background": True},
        {"previous_interaction_id": "v1_x"},
        {"response_format": {"type": "object"}},
        {"response_modalities": ["audio"]},
        {"generation_config": {"tool_choice": "any"}},
        {"generation_config": {"tool_choice": {"allowed_tools": {"mode": "any"}}}},
        {"input": [{"type": "text", "text": "contents of one turn"}]},
        {"input": 7},
    ],
)
def test_what_cannot_be_continued(fields: dict[str, Any]) -> None:
    assert read(**fields).unfit


@pytest.mark.parametrize(
    "given", ["Tell me.", [{"type": "user_input", "content": [{"type": "text", "text": "Tell me."}]}]]
)
def test_the_answer_and_the_question_are_steps_behind_the_input(given: Any) -> None:
    base = orjson.dumps({**ASKED, "input": given})
    facts = read_request("gemini-interactions", base)
    made = build_continuation("prompt", base, facts, snapshot(text="Once upon"), RecoveryPolicy())
    first, answer, question = orjson.loads(made.body)["input"]
    assert first == {"type": "user_input", "content": [{"type": "text", "text": "Tell me."}]}
    assert answer == {"type": "model_output", "content": [{"type": "text", "text": "Once upon"}]}
    assert '"Once upon"' in question["content"][0]["text"]
