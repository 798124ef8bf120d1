"""The hook before every attempt: what it is shown, what it may change, and what its refusals do."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from seamstream import (
    Attempt,
    AttemptRefusal,
    AttemptRefusedError,
    AttemptRequest,
    BackoffPolicy,
    RecoveryPolicy,
    StreamCutError,
)
from seamstream.testing import Fault, FaultServer
from tests.targets.asking import MODEL, SECRETS, TEXT, ask

AT_ONCE = RecoveryPolicy(backoff=BackoffPolicy(0.0, 1.0, 0.0))
CUT = Fault.reset(after_events=9)


async def test_it_sees_every_attempt_without_secrets(surface: str) -> None:
    seen: list[Attempt] = []
    policy = AT_ONCE.replace(prepare_attempt=seen.append)
    async with FaultServer(MODEL, [CUT]) as server:
        url = server.url_for("openai-chat")
        got = await ask(surface, url, policy, headers={"Idempotency-Key": "k"})
        assert (got.text, got.error) == (TEXT, None)
        first, second = seen
        assert [first.number, second.number] == [1, 2]
        assert first.url == second.url == url
        assert (first.plan, second.plan, second.strategy) == (None, "R1", "prompt")
        assert first.model == second.model == "m"
        assert first.max_tokens == 500
        assert second.produced_tokens > 0
        assert [attempt.body for attempt in seen] == [exchange.raw_body for exchange in server.requests]
        allowed = [exchange.body["max_tokens"] for exchange in server.requests]
        assert [attempt.max_tokens for attempt in seen] == allowed
        keys = [exchange.headers["idempotency-key"] for exchange in server.requests]
        assert keys == ["k", "k-a2"]
        told = repr(seen) + str([dict(attempt.headers) for attempt in seen])
        assert not any(secret in told for secret in SECRETS.values())


async def test_it_may_sign_each_attempt_and_change_its_body(surface: str) -> None:
    def sign(attempt: Attempt) -> AttemptRequest:
        body = json.loads(attempt.body) | {"user": f"attempt-{attempt.number}"}
        signature = {"Authorization": f"Signed {attempt.number}"}
        return AttemptRequest(signature, json.dumps(body).encode())

    async with FaultServer(MODEL, [CUT]) as server:
        got = await ask(surface, server.url_for("openai-chat"), AT_ONCE.replace(prepare_attempt=sign))
        assert got.text == TEXT
        signed = [exchange.headers["authorization"] for exchange in server.requests]
        assert signed == ["Signed 1", "Signed 2"]
        assert [exchange.body["user"] for exchange in server.requests] == ["attempt-1", "attempt-2"]


async def test_it_may_send_an_attempt_elsewhere_without_the_callers_secrets(surface: str) -> None:
    async with FaultServer(MODEL, [CUT]) as server, FaultServer(MODEL) as other:

        def reroute(attempt: Attempt) -> AttemptRequest | None:
            there = AttemptRequest({"Authorization": "Bearer other"}, url=other.url_for("openai-chat"))
            return there if attempt.number > 1 else None

        got = await ask(surface, server.url_for("openai-chat"), AT_ONCE.replace(prepare_attempt=reroute))
        assert got.text == TEXT
        (moved,) = other.requests
        assert moved.headers["authorization"] == "Bearer other"
        assert "sk-" not in str(moved.headers)


def refuse(_: Attempt) -> AttemptRefusal:
    return AttemptRefusal("the budget of this month is spent")


def explode(_: Attempt) -> None:
    raise LookupError("no token")


def mumble(_: Attempt) -> Any:
    return "yes"


REFUSING = [
    (refuse, "the budget of this month is spent"),
    (explode, "prepare_attempt raised LookupError"),
    (mumble, "prepare_attempt returned str"),
]


@pytest.mark.parametrize(("hook", "why"), REFUSING)
async def test_refusing_the_first_attempt_sends_nothing(
    surface: str, hook: Callable[[Attempt], Any], why: str
) -> None:
    async with FaultServer(MODEL) as server:
        got = await ask(surface, server.url_for("openai-chat"), AT_ONCE.replace(prepare_attempt=hook))
        assert server.requests == []
    assert isinstance(got.error, StreamCutError)
    assert got.error.code == "attempt_refused"
    assert why in str(got.error)
    assert [outcome.kind for outcome in got.outcomes] == ["failed"]


@pytest.mark.parametrize(("hook", "why"), REFUSING)
async def test_refusing_a_later_attempt_ends_the_run_with_what_was_received(
    surface: str, hook: Callable[[Attempt], Any], why: str
) -> None:
    def later(attempt: Attempt) -> Any:
        return hook(attempt) if attempt.number > 1 else None

    async with FaultServer(MODEL, [CUT]) as server:
        got = await ask(surface, server.url_for("openai-chat"), AT_ONCE.replace(prepare_attempt=later))
        assert len(server.requests) == 1
    assert isinstance(got.error, StreamCutError)
    assert got.error.code == "attempt_refused"
    assert why in str(got.error)
    assert got.turn.text
    assert TEXT.startswith(got.turn.text)
    assert isinstance(got.error.__cause__, AttemptRefusedError)
    if hook is explode:
        assert isinstance(got.error.__cause__.__cause__, LookupError)
    assert [outcome.kind for outcome in got.outcomes] == ["truncated"]


async def test_it_may_await(surface: str) -> None:
    async def later(attempt: Attempt) -> AttemptRequest:
        await asyncio.sleep(0)
        return AttemptRequest({"X-Ticket": f"t{attempt.number}"})

    async with FaultServer(MODEL, [CUT]) as server:
        got = await ask(surface, server.url_for("openai-chat"), AT_ONCE.replace(prepare_attempt=later))
        if surface == "httpx-sync":
            assert "this transport is synchronous" in str(got.error)
            return
        assert got.text == TEXT
        assert [exchange.headers["x-ticket"] for exchange in server.requests] == ["t1", "t2"]


@pytest.mark.parametrize("surface", ["middleware", "stream", "httpx"])
async def test_one_that_takes_too_long_is_a_refusal(surface: str) -> None:
    async def never(attempt: Attempt) -> None:
        if attempt.number > 1:
            await asyncio.Event().wait()

    async with FaultServer(MODEL, [CUT]) as server:
        policy = AT_ONCE.replace(prepare_attempt=never, prepare_s=0.05)
        got = await ask(surface, server.url_for("openai-chat"), policy)
        assert len(server.requests) == 1
    assert isinstance(got.error, StreamCutError)
    assert "took longer than 0.05 s" in str(got.error)


async def test_it_is_not_called_where_a_run_is_only_observed(surface: str) -> None:
    calls: list[Attempt] = []
    async with FaultServer(MODEL) as server:
        policy = AT_ONCE.replace(prepare_attempt=calls.append, mode="observe")
        got = await ask(surface, server.url_for("openai-chat"), policy)
    assert (got.text, calls) == (TEXT, [])
