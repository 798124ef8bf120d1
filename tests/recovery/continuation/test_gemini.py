"""Requests of Gemini: recognised by their path, read, and continued by both ways."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from seamstream.recognise import choices_asked, dialect_of
from seamstream.recovery.continuation.build import build_continuation, fitting_strategies
from seamstream.recovery.continuation.profiles import ProfileBook
from seamstream.recovery.continuation.request import RequestFacts, read_request
from seamstream.recovery.policy import RecoveryPolicy
from tests.recovery.made import snapshot

PATH = "/v1beta/models/gemini-2.5-flash:streamGenerateContent"
ASKED = {"role": "user", "parts": [{"text": "Tell me."}]}


def body(**fields: Any) -> bytes:
    return orjson.dumps({"contents": [ASKED], **fields})


def read(**config: Any) -> RequestFacts:
    return read_request("gemini", body(generationConfig=config), PATH)


def continued(strategy: Any, *contents: Any, text: str = "Once upon", **config: Any) -> dict[str, Any]:
    base = orjson.dumps({"contents": [*contents] or [ASKED], "generationConfig": config})
    facts = read_request("gemini", base, PATH)
    made = build_continuation(strategy, base, facts, snapshot(text=text, content_deltas=9), RecoveryPolicy())
    return dict(orjson.loads(made.body))


@pytest.mark.parametrize(
    ("path", "ours"),
    [
        (PATH, True),
        ("/v1/projects/p/locations/l/publishers/google/models/gemini-3:streamGenerateContent", True),
        ("/v1beta/models/gemini-2.5-flash:generateContent", False),
    ],
)
def test_the_path_tells_a_stream(path: str, ours: bool) -> None:
    found = dialect_of("POST", path, {"Content-Type": "application/json"})
    assert found == ("gemini" if ours else None)


def test_a_plain_request_is_fit_and_names_its_model_in_the_url() -> None:
    facts = read(maxOutputTokens=90, stopSequences=["END"])
    assert (facts.model, facts.stream, facts.max_tokens) == ("gemini-2.5-flash", True, 90)
    assert facts.stop_sequences == ("END",)
    assert facts.unfit is None
    assert fitting_strategies(("prefill", "prompt"), facts) == ("prefill", "prompt")


@pytest.mark.parametrize(
    "config",
    [
        {"responseMimeType": "application/json"},
        {"responseSchema": {"type": "OBJECT"}},
        {"responseJsonSchema": {"type": "object"}},
        {"candidateCount": 2},
        {"responseLogprobs": True},
        {"responseModalities": ["AUDIO"]},
    ],
)
def test_what_cannot_be_continued(config: dict[str, Any]) -> None:
    assert read(**config).unfit


def test_a_forced_tool_is_not_continued() -> None:
    forced = body(toolConfig={"functionCallingConfig": {"mode": "ANY"}}, tools=[{}])
    assert read_request("gemini", forced, PATH).forced_tool


def test_several_candidates_are_noticed_before_the_first_attempt() -> None:
    assert choices_asked("gemini", body(generationConfig={"candidateCount": 3})) == 3
    assert choices_asked("gemini", body(contents=[{"parts": [{"text": '"candidateCount": 3'}]}])) == 1


def test_a_prefill_is_a_model_turn_at_the_end() -> None:
    asked = continued("prefill", maxOutputTokens=90)
    assert asked["contents"] == [ASKED, {"role": "model", "parts": [{"text": "Once upon"}]}]
    assert asked["generationConfig"]["maxOutputTokens"] < 90


def test_the_callers_own_prefill_is_extended() -> None:
    begun = {"role": "model", "parts": [{"text": "Well. "}]}
    asked = continued("prefill", ASKED, begun)
    assert asked["contents"] == [ASKED, {"role": "model", "parts": [{"text": "Well. Once upon"}]}]
    assert begun["parts"] == [{"text": "Well. "}]


def test_a_prompt_is_a_user_turn_behind_the_answer() -> None:
    *_, model, user = continued("prompt")["contents"]
    assert model["role"] == "model"
    assert user["role"] == "user"
    assert '"Once upon"' in user["parts"][0]["text"]


@pytest.mark.parametrize(
    ("model", "strategies"),
    [
        ("gemini-2.5-pro", ("prefill", "prompt")),
        ("gemini-3-flash-preview", ("prefill", "prompt")),
        ("gemini-3.1-pro-preview", ("prefill", "prompt")),
        ("gemini-3.5-flash", ("prefill", "prompt")),
        ("gemini-3.5-flash-lite", ("prompt",)),
        ("gemini-3.6-flash", ("prompt",)),
        ("gemini-3.10-flash", ("prompt",)),
        ("gemini-4-pro", ("prompt",)),
    ],
)
def test_newer_models_refuse_a_model_turn_at_the_end(model: str, strategies: tuple[str, ...]) -> None:
    book = ProfileBook()
    assert book.strategies(host="h", dialect="gemini", model=model, now=0.0) == strategies
