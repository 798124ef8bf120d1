"""What a driver does about cuts: waits, budgets, requests, records, and what it says when it gives up."""

from __future__ import annotations

import dataclasses
import itertools
import json

import pytest

from seamstream import RecoveryPolicy, StreamCutError
from seamstream.effects import TIMED_OUT, Broke
from seamstream.errors import FrameTooLarge, HttpFailureError, NotAnEventStream
from seamstream.observe import Notice, RunEvent
from seamstream.recovery.causes import BodyEnd
from seamstream.recovery.retry_budget import SLOT_WAIT_S, RetryBudget
from seamstream.testing import DeterministicModel, Dialect, differences, read_turn
from seamstream.types import Finish, Seam, StreamReset
from tests.driver.playing import ANSWER, HEALTHY, RESET, Reply, Stage, cut

BUSY = Reply(503, {"content-type": "application/json"}, b'{"error":{"type":"server_error","message":"busy"}}')
STALL = itertools.repeat(TIMED_OUT)


def same(stage: Stage, data: bytes) -> bool:
    return differences(read_turn(stage.dialect, stage.unbroken()), read_turn(stage.dialect, data)) == []


def test_a_healthy_answer_is_verbatim_and_needs_one_request() -> None:
    stage = Stage()
    run = stage.play(HEALTHY)
    assert (run.data, run.finished, len(run.requests)) == (stage.unbroken(), True, 1)
    assert run.requests[0].body is None


def test_a_lone_break_is_answered_at_once() -> None:
    stage = Stage()
    run = stage.play(cut(), HEALTHY)
    assert same(stage, run.data)
    assert stage.waits == []


def test_the_second_break_without_progress_waits() -> None:
    stage = Stage()
    stage.play(cut(), cut(0), HEALTHY)
    assert len(stage.waits) == 1
    assert 0.0 < stage.waits[0] <= stage.driver.spec.policy.backoff.first_s * 2


def test_a_server_s_wait_is_a_floor() -> None:
    stage = Stage()
    asks = dataclasses.replace(BUSY, headers={"retry-after": "7"})
    run = stage.play(asks, HEALTHY)
    assert sum(stage.waits) >= 7.0
    assert run.finished


def test_a_wait_above_the_limit_ends_the_run() -> None:
    stage = Stage(policy=RecoveryPolicy(max_retry_after_s=30.0))
    run = stage.play(dataclasses.replace(BUSY, headers={"retry-after": "31"}), HEALTHY)
    assert run.relayed is not None
    assert (run.relayed.status, stage.waits, len(run.requests)) == (503, [], 1)


def test_a_wait_that_recovery_has_no_time_for_ends_the_run() -> None:
    stage = Stage(policy=RecoveryPolicy(max_recovery_s=10.0))
    run = stage.play(cut(), dataclasses.replace(BUSY, headers={"retry-after": "11"}))
    assert isinstance(run.error, StreamCutError)
    assert run.error.code == "budget_exhausted"


def test_the_reader_is_kept_alive_while_we_wait() -> None:
    pings: tuple[tuple[Dialect, bytes], ...]
    pings = (("anthropic", b"event: ping\n"), ("openai-chat", b"\n:"))
    for dialect, ping in pings:
        stage = Stage(dialect)
        run = stage.play(cut(), dataclasses.replace(BUSY, headers={"retry-after": "25"}), HEALTHY)
        assert same(stage, run.data)
        assert run.data.count(ping) >= 2 + stage.unbroken().count(ping)


def test_recoveries_are_counted() -> None:
    stage = Stage(policy=RecoveryPolicy(max_recoveries=2))
    run = stage.play(cut(4), cut(8), cut(12))
    assert isinstance(run.error, StreamCutError)
    assert (len(run.requests), run.error.code) == (3, "budget_exhausted")
    assert read_turn("openai-chat", run.data).text == run.error.turn.text  # type: ignore[union-attr]


def test_the_same_cut_at_the_same_place_ends_it() -> None:
    patient = RecoveryPolicy(max_recoveries=9, max_recoveries_without_progress=9, allow_after_start=True)
    stage = Stage(policy=patient, reader="typed", model=None)
    run = stage.play(*[cut(2)] * 9)
    assert isinstance(run.error, StreamCutError)
    assert len(run.requests) < 9


def test_an_answer_that_flows_may_take_as_long_as_it_likes() -> None:
    """Recovery time is the time without content, not the time of the answer."""
    stage = Stage(policy=RecoveryPolicy(max_recovery_s=5.0, idle_s=60.0))

    def slowly() -> object:
        for event in stage.events():
            stage.clock.tick(50.0)
            yield event

    run = stage.play(cut(), HEALTHY)
    assert run.finished
    slow = Stage(policy=RecoveryPolicy(max_recovery_s=5.0, idle_s=60.0))
    run = slow.play(Reply(chunks=slowly()))  # type: ignore[arg-type]
    assert run.data == slow.unbroken()


def test_silence_is_a_stall_only_after_its_limit() -> None:
    stage = Stage(policy=RecoveryPolicy(idle_s=120.0))
    begun = stage.clock.monotonic()
    run = stage.play(Reply(chunks=[*stage.events()[:8], *itertools.islice(STALL, 50)]), HEALTHY)
    assert same(stage, run.data)
    assert stage.driver.turn is not None
    assert stage.driver.turn.outcome.causes == ("IdleStall",)
    assert stage.clock.monotonic() - begun == pytest.approx(120.0, abs=0.1)
    assert [type(record) for record in stage.records if isinstance(record, Notice)] == [Notice]


def test_a_held_end_leaves_by_itself() -> None:
    """The finish reason came, `[DONE]` does not: after the grace the reader gets its end, once."""
    stage = Stage()
    run = stage.play(Reply(chunks=[*stage.events()[:-1], TIMED_OUT, TIMED_OUT, TIMED_OUT]))
    assert run.finished
    assert run.data == stage.unbroken()
    assert len(run.requests) == 1


def test_a_target_that_is_out_of_slots_is_waited_for_and_then_given_up() -> None:
    budget = RetryBudget(min_concurrency=1)
    taken = budget.target("http://provider.test:80")
    assert taken.try_acquire()
    stage = Stage(budget=budget)
    run = stage.play(cut(), HEALTHY)
    assert isinstance(run.error, StreamCutError)
    assert run.error.code == "target_budget_empty"
    assert sum(stage.waits) == pytest.approx(SLOT_WAIT_S, abs=0.5)
    taken.release()


def test_slots_and_streams_are_given_back() -> None:
    stage = Stage()
    stage.play(cut(), HEALTHY)
    target = stage.budget.target("http://provider.test:80")
    assert (target.open_streams, target.recovering) == (0, 0)


def test_leaving_gives_everything_back_too() -> None:
    stage = Stage()
    steps = stage.driver.steps()
    next(steps)
    steps.close()
    assert stage.budget.target("http://provider.test:80").open_streams == 0
    assert stage.driver.turn is not None
    assert stage.driver.turn.outcome.kind == "cancelled"


def test_the_base_request_is_built_on_each_time() -> None:
    stage = Stage("anthropic")
    run = stage.play(cut(8), cut(6), HEALTHY)
    bodies = [json.loads(request.body) for request in run.requests[1:] if request.body]
    assert [len(body["messages"]) for body in bodies] == [2, 2]
    assert bodies[1]["messages"][1]["content"].startswith(bodies[0]["messages"][1]["content"])
    assert bodies[1]["max_tokens"] < bodies[0]["max_tokens"] < 500


def test_a_restart_sends_the_request_as_it_was() -> None:
    stage = Stage()
    run = stage.play(cut(1), HEALTHY)
    assert [request.body for request in run.requests] == [None, None]
    assert run.data == stage.unbroken()


def test_a_typed_reader_hears_of_a_restart() -> None:
    """Only a typed reader can be told to drop what it has; here the seam does not fit."""
    stage = Stage(reader="typed", model=DeterministicModel(ANSWER, persona="refuser"))
    run = stage.play(cut(12), HEALTHY)
    kinds = [type(event) for event in run.events]
    assert StreamReset in kinds
    assert kinds[-1] is Finish
    assert stage.driver.turn is not None
    assert stage.driver.turn.text == ANSWER.text
    assert [request.body is None for request in run.requests] == [True, False, True]


def test_a_typed_reader_hears_of_the_seam() -> None:
    stage = Stage(reader="typed")
    run = stage.play(cut(8), HEALTHY)
    (seam,) = [event for event in run.events if isinstance(event, Seam)]
    assert (seam.cause, seam.plan, seam.join, seam.attempt) == ("ConnectionReset", "R1", "anchored", 2)
    assert [event.seq for event in run.events] == list(range(1, len(run.events) + 1))


@pytest.mark.parametrize("dialect", ["openai-chat", "anthropic"])
def test_an_event_that_is_too_large_is_an_error_of_its_own(dialect: Dialect) -> None:
    stage = Stage(dialect, policy=RecoveryPolicy(max_event_bytes=5_000))
    run = stage.play(Reply(chunks=[*stage.events()[:6], b"data: " + b"x" * 6_000]))
    assert isinstance(run.error, FrameTooLarge)
    assert run.error.limit_bytes == 5_000
    assert run.data.startswith(b"".join(stage.events()[:5]))


def test_a_typed_reader_gets_http_failures_as_errors() -> None:
    run = Stage(reader="typed").play(
        Reply(401, {"content-type": "application/json"}, b'{"error":{"message":"no key"}}')
    )
    assert isinstance(run.error, HttpFailureError)
    assert (run.error.status, run.error.kind, run.error.retryable) == (401, "auth", False)


def test_a_success_without_a_stream_is_no_truncation() -> None:
    page = Reply(status=204, headers={"content-type": "text/html"}, body=b"<h1>Sign in</h1>")
    run = Stage(reader="typed").play(page)
    assert isinstance(run.error, NotAnEventStream)


def test_a_connection_that_never_comes_raises_its_own_error() -> None:
    refused = ConnectionRefusedError(111, "refused")
    run = Stage().play(Reply(fails_with=refused))
    assert run.error is refused
    assert len(run.requests) == RecoveryPolicy().max_recoveries + 1


def test_only_later_attempts_change_the_idempotency_key() -> None:
    run = Stage(idempotency=("Idempotency-Key", "k")).play(cut(), cut(6), HEALTHY)
    assert [dict(request.headers) for request in run.requests] == [
        {},
        {"Idempotency-Key": "k-a2"},
        {"Idempotency-Key": "k-a3"},
    ]


def test_observing_sends_nothing_again() -> None:
    run = Stage(reader="typed", mode="observe").play(cut(), HEALTHY)
    assert isinstance(run.error, StreamCutError)
    assert (run.error.code, len(run.requests)) == ("recovery_off", 1)


def test_every_arrow_is_one_record() -> None:
    stage = Stage()
    stage.play(cut(), BUSY, HEALTHY)
    events = [record for record in stage.records if isinstance(record, RunEvent)]
    assert [event.input.value for event in events] == [
        *("request", "stream", "fail", "budget"),
        *("request", "fail", "budget"),
        *("request", "stream", "succeed"),
    ]
    assert [(before.state_to, after.state_from) for before, after in itertools.pairwise(events)] == [
        (event.state_to, event.state_to) for event in events[:-1]
    ]
    last = events[-1]
    assert last.outcome is not None
    assert last.turn is not None
    assert (last.outcome.kind, last.outcome.attempts) == ("recovered", 3)
    assert [(span.attempt, last.turn.text[span.start : span.end]) for span in last.provenance] == [
        (1, last.turn.text[: last.turn.seams[0].offset]),
        (3, last.turn.text[last.turn.seams[0].offset :]),
    ]


def test_the_gap_is_the_time_from_the_cut_to_the_next_content() -> None:
    stage = Stage()
    stage.play(cut(), dataclasses.replace(BUSY, headers={"retry-after": "4"}), HEALTHY)
    last = stage.records[-1]
    assert isinstance(last, RunEvent)
    assert last.gap_s == pytest.approx(sum(stage.waits))


def test_usage_counts_every_attempt() -> None:
    stage = Stage("anthropic")
    stage.play(cut(8), HEALTHY)
    turn = stage.driver.turn
    assert turn is not None
    first, second = turn.attempts
    assert (first.usage.complete, second.usage.complete, turn.usage.complete) == (False, True, False)
    assert turn.usage.input_tokens == first.usage.input_tokens
    assert turn.usage.estimated
    assert turn.outcome.extra_usage == second.usage


def test_the_message_says_what_where_why_and_the_ids() -> None:
    stage = Stage(policy=RecoveryPolicy(max_recoveries=0))
    run = stage.play(dataclasses.replace(cut(), headers={"x-request-id": "req_9"}))
    message = str(run.error)
    for part in ("ConnectionReset", "after character", "attempt 1 of 1", ".turn", "run-1", "req_9"):
        assert part in message
    assert isinstance(run.error, StreamCutError)
    assert run.error.__cause__ is RESET.error


def test_a_clean_end_without_proof_has_no_cause_to_chain() -> None:
    stage = Stage(policy=RecoveryPolicy(max_recoveries=0))
    run = stage.play(cut(8, Broke(BodyEnd.CLEAN)))
    assert isinstance(run.error, StreamCutError)
    assert (str(run.error.cause), run.error.__cause__) == ("EarlyEof", None)
