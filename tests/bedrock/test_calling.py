"""Answers that call a tool, cut behind each of their events; and what a model's id does to a signature."""

from __future__ import annotations

import asyncio
from typing import Any, get_args

import pytest

import seamstream
from seamstream import Attempt, AttemptRefusedError, AttemptRequest, StreamCutError
from seamstream.testing import Answer, DeterministicModel, Fault, FaultServer, Text, Tool, tokens
from tests.bedrock.clients import AT_ONCE, QUESTION, Kind, client_of, is_signed, read

KINDS = get_args(Kind)
SAID = "Let me measure how deep the water is here."
MODEL = DeterministicModel(Answer((Text(tokens(SAID)), Tool("depth", ('{"metres":', " 12}")))))
EVENTS = len(MODEL.reply("bedrock", {**QUESTION, "stream": True}).events)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_call_arrives_once_and_whole_wherever_the_cut_is(kind: Kind) -> None:
    async with FaultServer(MODEL) as server:
        whole = await read(kind, server.url, wrapped=False)
    assert (whole.text, whole.calls, whole.stop) == (SAID, [("depth", '{"metres": 12}')], "tool_use")
    plans = []
    for count in range(EVENTS):
        async with FaultServer(MODEL, [Fault.reset(after_events=count)]) as server:
            with seamstream.capture() as outcomes:
                got = await read(kind, server.url)
            assert (got.error, got.same) == (None, whole.same), count
            assert all(is_signed(exchange, server.url) for exchange in server.requests), count
        plans.append(outcomes[0].plan)
    assert list(dict.fromkeys(plans)) == ["R4", "R1", "R3", "R2", "R0"]


@pytest.mark.parametrize("kind", KINDS)
async def test_a_models_id_is_signed_as_it_is_sent(kind: Kind) -> None:
    """Its colon is escaped in the path, and the path once more for the signature."""
    question = {**QUESTION, "modelId": "anthropic.claude-sonnet-4-5-20250929-v1:0"}
    async with FaultServer(MODEL, [Fault.reset(after_events=6)]) as server:
        got = await read(kind, server.url, question)
        assert (got.error, got.text) == (None, SAID)
        paths = [exchange.path for exchange in server.requests]
        assert paths == [f"/model/{question['modelId']}/converse-stream"] * 2
        assert all(is_signed(exchange, server.url) for exchange in server.requests)
        server.requests[1].raw_body += b" "
        assert not is_signed(server.requests[1], server.url), "a signature must not fit another body"


@pytest.mark.parametrize("kind", KINDS)
async def test_other_operations_pass_untouched(kind: Kind) -> None:
    """The server knows none of them, and its refusal comes back as it is."""
    async with FaultServer(MODEL) as server, client_of(kind, server.url) as client:
        with seamstream.capture() as outcomes, pytest.raises(client.exceptions.ClientError, match="404"):
            await _invoke(kind, client)
        assert len(server.requests) == 1
    assert outcomes == []


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("attempt", [1, 2])
async def test_a_hook_that_wants_another_url_is_refused_and_nothing_is_lost(kind: Kind, attempt: int) -> None:
    """The client's credentials must not leave for it."""

    def elsewhere(asked: Attempt) -> AttemptRequest | None:
        return AttemptRequest(url="http://127.0.0.1:9/") if asked.number == attempt else None

    policy = AT_ONCE.replace(prepare_attempt=elsewhere)
    async with FaultServer(MODEL, [Fault.reset(after_events=6)]) as server:
        got = await read(kind, server.url, policy=policy)
        assert len(server.requests) == attempt - 1
    assert isinstance(got.error, StreamCutError)
    assert isinstance(got.error.__cause__, AttemptRefusedError)
    assert "its own endpoint" in str(got.error)
    assert got.error.turn is not None
    assert got.error.turn.text == got.text
    assert SAID.startswith(got.text)
    assert bool(got.text) == (attempt == 2)


async def _invoke(kind: Kind, client: Any) -> None:
    invoke = client.invoke_model_with_response_stream
    if kind == "boto3":
        await asyncio.to_thread(invoke, modelId="test-model", body=b"{}")
    else:
        await invoke(modelId="test-model", body=b"{}")
