"""Accumulation: bytes to the whole turn, tool completeness included."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Literal

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from bench import by_hand
from bench.measure import measure
from bench.payloads import Expected, Payload, anthropic, chat
from bench.sdk_readers import AnthropicReader, OpenAIReader
from seamstream._core import Splice

Dialect = Literal["openai-chat", "anthropic"]
PAYLOADS: dict[Dialect, Callable[[], Payload]] = {"openai-chat": chat, "anthropic": anthropic}
SHAPES = ["1,400-byte reads", "one event a read"]
BY_HAND = {"openai-chat": by_hand.chat_turn, "anthropic": by_hand.anthropic_turn}
SDK = {"openai-chat": OpenAIReader, "anthropic": AnthropicReader}


def reads_of(payload: Payload, shape: str) -> list[bytes]:
    return payload.reads() if shape == SHAPES[0] else list(payload.events)


def with_seamstream(dialect: Dialect, reads: list[bytes]) -> Expected:
    splice = Splice(dialect)
    for read in reads:
        splice.feed(read)
    turn = splice.snapshot()
    [(_, _, arguments, _)] = turn["completed_tool_calls"]
    return Expected(turn["text"], arguments)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dialect", PAYLOADS)
def test_seamstream(benchmark: BenchmarkFixture, dialect: Dialect, shape: str) -> None:
    payload = PAYLOADS[dialect]()
    reads = reads_of(payload, shape)
    row = f"turn, {dialect}, {shape}"
    turn = measure(benchmark, row, "seamstream", len(payload.events), lambda: with_seamstream(dialect, reads))
    assert turn == payload.expected


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dialect", PAYLOADS)
def test_by_hand(benchmark: BenchmarkFixture, dialect: Dialect, shape: str) -> None:
    payload = PAYLOADS[dialect]()
    reads = reads_of(payload, shape)
    row = f"turn, {dialect}, {shape}"
    turn = measure(benchmark, row, "by hand", len(payload.events), lambda: BY_HAND[dialect](reads))
    assert turn == payload.expected


@pytest.mark.parametrize("dialect", PAYLOADS)
def test_sdk(benchmark: BenchmarkFixture, dialect: Dialect) -> None:
    payload = PAYLOADS[dialect]()
    reader = SDK[dialect](payload.reads())
    turn = measure(benchmark, f"turn, {dialect}, {SHAPES[0]}", "sdk", len(payload.events), reader)
    assert turn.text == payload.expected.text
    assert json.loads(turn.arguments) == json.loads(payload.expected.arguments)
