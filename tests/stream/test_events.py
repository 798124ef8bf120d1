"""What a typed reader gets: events in order, one turn over all attempts, an error with the partial turn."""

from __future__ import annotations

import asyncio
from typing import Any

import aiohttp
import pytest

import seamstream
from seamstream import (
    AttemptStart,
    BackoffPolicy,
    ConfigurationError,
    Finish,
    HttpFailureError,
    NotAnEventStream,
    Profile,
    RecoveryMiddleware,
    RecoveryPolicy,
    Seam,
    StreamCutError,
    StreamReset,
    TextDelta,
    ToolCallCancel,
    ToolCallDelta,
    ToolCallReady,
    ToolCallStart,
    UsageUpdate,
)
from seamstream.testing import DeterministicModel, FakeClock, Fault
from seamstream.types import Event
from tests.stream.conftest import TEXT

AT_ONCE = RecoveryPolicy(backoff=BackoffPolicy(first_s=0.0, max_s=0.0))


def said(events: list[Event]) -> str:
    """The text, as a reader puts it together."""
    text = ""
    for event in events:
        if isinstance(event, TextDelta):
            text += event.text
        elif isinstance(event, StreamReset):
            text = ""
    return text


def kinds(events: list[Event]) -> list[type[Event]]:
    """The kinds in order, runs of one kind as one."""
    found = [type(event) for event in events]
    return [kind for at, kind in enumerate(found) if at == 0 or found[at - 1] is not kind]


async def test_a_healthy_answer(place: Any) -> None:
    async with place() as here:
        run, events = await here.events()
    assert kinds(events) == [
        *(AttemptStart, TextDelta, ToolCallStart, ToolCallDelta, ToolCallReady, UsageUpdate, Finish)
    ]
    assert said(events) == run.turn.text == TEXT
    assert [(call.name, call.arguments) for call in run.turn.tool_calls] == [("look", '{"where": "north"}')]
    assert run.turn.stop_reason == "tool_use"
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert run.outcome is not None
    assert (run.outcome.kind, run.outcome.attempts, len(here.requests)) == ("complete", 1, 1)
    assert here.requests[0].body["stream"] is True


@pytest.mark.parametrize(
    "fault",
    [
        Fault.reset(after_events=9),
        Fault.clean_end(after_events=9),
        Fault.in_band_error(529, after_events=9),
        Fault.bad_chunk_size(after_events=9),
        Fault.http_error(503, {"retry-after": "0"}),
    ],
)
async def test_a_broken_answer_is_whole_in_the_end(place: Any, fault: Fault) -> None:
    async with place([fault]) as here:
        run, events = await here.events(policy=AT_ONCE)
    assert said(events) == run.turn.text == TEXT
    assert [event.arguments for event in events if isinstance(event, ToolCallReady)] == ['{"where": "north"}']
    assert type(events[-1]) is Finish
    assert run.outcome is not None
    assert (run.outcome.kind, run.outcome.attempts) == ("recovered", 2)


async def test_a_seam_says_where_and_how_sure(place: Any) -> None:
    async with place([Fault.reset(after_events=9)]) as here:
        run, events = await here.events(policy=AT_ONCE)
    (seam,) = [event for event in events if isinstance(event, Seam)]
    before = events[: events.index(seam)]
    assert seam.offset == len(said(before))
    assert (seam.cause, seam.plan, seam.attempt) == ("ConnectionReset", "R1", 2)
    assert [(record.offset, record.join) for record in run.turn.seams] == [(seam.offset, seam.join)]


async def test_an_unfinished_call_is_cancelled_and_asked_for_again(place: Any) -> None:
    async with place([Fault.reset(after_text=rb"\"no")]) as here:
        run, events = await here.events(policy=AT_ONCE)
    (cancel,) = [event for event in events if isinstance(event, ToolCallCancel)]
    starts = [event for event in events if isinstance(event, ToolCallStart)]
    assert cancel.id == starts[0].id != starts[1].id
    assert len(run.turn.tool_calls) == 1
    assert said(events) == TEXT


async def test_a_restart_tells_the_reader_to_drop_what_it_has(answer: Any, place: Any) -> None:
    refuser = DeterministicModel(answer, persona="refuser")
    async with place([Fault.reset(after_events=20)], model=refuser) as here:
        by_prompt = [Profile(("prompt",))]
        run, events = await here.events(policy=AT_ONCE, profiles=by_prompt)
    assert StreamReset in kinds(events)
    assert said(events) == run.turn.text == TEXT


async def test_the_error_carries_the_partial_turn(place: Any) -> None:
    async with place([Fault.reset(after_events=9)]) as here:
        events: list[Event] = []
        run = here.ask(policy=RecoveryPolicy(max_recoveries=0))
        with pytest.raises(StreamCutError) as raised:
            await _read_into(events, run)
    assert raised.value.turn is not None
    assert said(events) == raised.value.turn.text != ""
    assert TEXT.startswith(said(events))
    assert isinstance(raised.value, aiohttp.ClientPayloadError)
    assert raised.value.run_id == run.run_id
    assert run.turn.outcome.kind == "truncated"


@pytest.mark.parametrize(
    ("status", "kind"), [(401, "auth"), (404, "unknown_model"), (400, "invalid_request")]
)
async def test_an_http_failure_is_an_error(place: Any, status: int, kind: str) -> None:
    async with place([Fault.http_error(status)]) as here:
        with pytest.raises(HttpFailureError) as raised:
            await here.events()
    assert (raised.value.status, raised.value.kind, len(here.requests)) == (status, kind, 1)


@pytest.mark.parametrize("fault", [Fault.html(), Fault.json_body()])
async def test_a_success_that_is_no_stream_is_told_apart(place: Any, fault: Fault) -> None:
    async with place([fault]) as here:
        with pytest.raises(NotAnEventStream) as raised:
            await here.events()
    assert raised.value.status == 200
    assert raised.value.excerpt


async def test_a_session_with_the_middleware_recovers_once_not_twice(place: Any) -> None:
    layers = (RecoveryMiddleware(AT_ONCE),)
    async with place([Fault.reset(after_events=9)], middlewares=layers) as here:
        with seamstream.capture() as runs:
            await here.events(policy=AT_ONCE)
    assert (len(here.requests), len(runs)) == (2, 1)


async def test_a_session_that_raises_for_status_does_not_hide_retries(place: Any) -> None:
    always = Fault.http_error(503, {"retry-after": "0"})
    async with place([always], raise_for_status=True) as here:
        _, events = await here.events(policy=AT_ONCE)
    assert said(events) == TEXT


async def test_the_session_s_own_total_timeout_does_not_rule(place: Any) -> None:
    """It would end a long answer that flows; the policy's limits are there for the rest."""
    clock = FakeClock()
    moment = aiohttp.ClientTimeout(total=0.01)
    async with (
        place([Fault.stall(after_events=9)], timeout=moment) as here,
        here.ask(clock=clock, policy=AT_ONCE) as run,
    ):
        events = [await anext(run) for _ in range(4)]
        task = asyncio.ensure_future(_rest(run))
        while len(here.requests) < 2:
            await clock.advance(10.0)
        while not task.done():
            await clock.advance(0.1)
        events += await task
    assert said(events) == TEXT
    assert run.turn.outcome.causes == ("IdleStall",)


async def _read_into(events: list[Event], run: Any) -> None:
    async with run:
        async for event in run:
            events.append(event)


async def _rest(run: Any) -> list[Event]:
    return [event async for event in run]


async def test_a_reader_that_takes_its_time_is_no_stall(place: Any) -> None:
    clock = FakeClock()
    async with place() as here, here.ask(clock=clock) as run:
        async for _ in run:
            clock.tick(3_600.0)
    assert (run.turn.outcome.kind, len(here.requests)) == ("complete", 1)


async def test_leaving_early_closes_upstream(place: Any) -> None:
    async with place([Fault.stall(after_events=9)]) as here:
        async with here.ask() as run:
            await anext(run)
        await here.requests[0].over()
        assert here.requests[0].client_left_at is not None
    assert run.turn.outcome.kind == "cancelled"


@pytest.mark.parametrize(
    "script", [[Fault.stall(after_events=9)], [Fault.reset(after_events=9), Fault.stall(after_events=2)]]
)
async def test_cancelling_closes_upstream(place: Any, script: list[Fault]) -> None:
    async with place(script) as here:
        reading = asyncio.create_task(here.events(policy=AT_ONCE))
        while len(here.requests) < len(script) or not here.requests[-1].sent:  # noqa: ASYNC110
            await asyncio.sleep(0)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        await here.requests[-1].over()


async def test_answers_share_a_connection(place: Any) -> None:
    async with place() as here:
        for _ in range(3):
            await here.events()
        assert len({exchange.connection for exchange in here.requests}) == 1


async def test_the_turn_can_be_looked_at_on_the_way(place: Any) -> None:
    async with place() as here, here.ask() as run:
        async for event in run:
            if isinstance(event, TextDelta):
                assert run.turn.text
                assert run.outcome is None
                break


async def test_a_path_that_tells_no_dialect_needs_one(place: Any) -> None:
    async with place() as here:
        with pytest.raises(ConfigurationError):
            seamstream.stream(here.session, "http://127.0.0.1:1/elsewhere", json={})
        run = seamstream.stream(here.session, "http://127.0.0.1:1/elsewhere", json={}, dialect="anthropic")
        assert run.run_id
