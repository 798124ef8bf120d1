"""What is read from base requests of both dialects."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from seamstream.recovery.continuation.request import Dialect, RequestFacts, read_request

HELLO = [{"role": "user", "content": "Hello"}]


def read(dialect: Dialect, **fields: Any) -> RequestFacts:
    return read_request(dialect, orjson.dumps({"model": "m", "messages": HELLO, "stream": True, **fields}))


@pytest.mark.parametrize("dialect", ["openai-chat", "anthropic"])
def test_a_plain_request_is_fit(dialect: Dialect) -> None:
    assert read(dialect) == RequestFacts(dialect, model="m")
    assert read(dialect).unfit is None
    assert not read(dialect, stream=False).stream
    assert read(dialect, tools=[{"name": "f"}]).tools_offered


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b"{", "the request body is no JSON"),
        (b"\xff", "the request body is no JSON"),
        (b"[]", "the request body is no JSON object"),
        (b"{}", "the request has no list of messages"),
        (b'{"messages":[]}', "the request has no list of messages"),
        (b'{"messages":["hello"]}', "the request has no list of messages"),
        (None, "the request was too large to be kept"),
    ],
)
def test_what_cannot_be_read_cannot_be_continued(body: bytes | None, problem: str) -> None:
    request = read_request("openai-chat", body)
    assert request.unfit == request.problem == problem
    assert request.retained is (body is not None)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"response_format": {"type": "json_schema", "json_schema": {}}}, "structured output was asked for"),
        ({"response_format": {"type": "json_object"}}, "structured output was asked for"),
        ({"guided_json": {"type": "object"}}, "structured output was asked for"),
        ({"grammar": "root ::= [a-z]+"}, "structured output was asked for"),
        ({"n": 2}, "several choices were asked for"),
        ({"logprobs": True}, "logprobs were asked for"),
        ({"top_logprobs": 3}, "logprobs were asked for"),
        ({"tool_choice": "required"}, "a tool call was forced"),
        ({"tool_choice": {"type": "function", "function": {"name": "f"}}}, "a tool call was forced"),
        ({"tool_choice": {"type": "custom", "custom": {"name": "f"}}}, "a tool call was forced"),
        (
            {"tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": []}}},
            "a tool call was forced",
        ),
        ({"function_call": {"name": "f"}}, "a tool call was forced"),
        ({"modalities": ["text", "audio"]}, "audio was asked for"),
        ({"audio": {"voice": "v"}}, "audio was asked for"),
    ],
)
def test_chat_requests_whose_rest_cannot_be_joined(fields: dict[str, Any], reason: str) -> None:
    assert read("openai-chat", **fields).unfit == reason


@pytest.mark.parametrize(
    "fields",
    [
        {"response_format": {"type": "text"}},
        {"response_format": None},
        {"n": 1},
        {"n": True},
        {"logprobs": False, "top_logprobs": 0},
        {"tool_choice": "auto"},
        {"tool_choice": "none"},
        {"tool_choice": None},
        {"tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": []}}},
        {"function_call": "auto"},
        {"modalities": ["text"]},
        {"guided_json": None},
    ],
)
def test_chat_requests_whose_rest_can_be_joined(fields: dict[str, Any]) -> None:
    assert read("openai-chat", **fields).unfit is None


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"output_config": {"format": {"type": "json_schema"}}}, "structured output was asked for"),
        ({"output_format": {"type": "json_schema"}}, "structured output was asked for"),
        ({"tool_choice": {"type": "any"}}, "a tool call was forced"),
        ({"tool_choice": {"type": "tool", "name": "f"}}, "a tool call was forced"),
        ({"tool_choice": {"type": "auto"}}, None),
        ({"output_config": {"effort": "low"}}, None),
    ],
)
def test_anthropic_requests(fields: dict[str, Any], reason: str | None) -> None:
    assert read("anthropic", **fields).unfit == reason


@pytest.mark.parametrize(
    ("thinking", "on", "budget"),
    [
        (None, False, 0),
        ({"type": "disabled"}, False, 0),
        ({"type": "enabled", "budget_tokens": 2048}, True, 2048),
        ({"type": "adaptive"}, True, 0),
    ],
)
def test_thinking(thinking: dict[str, Any] | None, on: bool, budget: int) -> None:
    request = read("anthropic", thinking=thinking)
    assert (request.thinking, request.thinking_budget_tokens) == (on, budget)


@pytest.mark.parametrize(
    ("dialect", "fields", "limit"),
    [
        ("openai-chat", {"max_tokens": 90}, 90),
        ("openai-chat", {"max_completion_tokens": 80, "max_tokens": 90}, 80),
        ("openai-chat", {"max_tokens": 0}, None),
        ("openai-chat", {"max_tokens": "90"}, None),
        ("openai-chat", {"max_tokens": True}, None),
        ("anthropic", {"max_tokens": 70}, 70),
        ("anthropic", {"max_completion_tokens": 70}, None),
    ],
)
def test_token_limits(dialect: Dialect, fields: dict[str, Any], limit: int | None) -> None:
    assert read(dialect, **fields).max_tokens == limit


@pytest.mark.parametrize(
    ("dialect", "fields", "stop"),
    [
        ("openai-chat", {"stop": "END"}, ("END",)),
        ("openai-chat", {"stop": ["a", "", 7, "b"]}, ("a", "b")),
        ("openai-chat", {"stop": None}, ()),
        ("anthropic", {"stop_sequences": ["\n\nHuman:"]}, ("\n\nHuman:",)),
    ],
)
def test_stop_sequences(dialect: Dialect, fields: dict[str, Any], stop: tuple[str, ...]) -> None:
    assert read(dialect, **fields).stop_sequences == stop


def test_a_model_that_is_no_text_is_no_model() -> None:
    assert read("openai-chat", model=7).model == ""
