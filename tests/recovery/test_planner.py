"""The table of plans, row by row, with the values written by hand."""

from __future__ import annotations

from typing import Any

import pytest

from seamstream.recovery.classify import FailureClass
from seamstream.recovery.error_codes import FailureKind
from seamstream.recovery.planner import Decision, make_plan, plan_restart
from seamstream.recovery.policy import RecoveryPolicy
from seamstream.types import Plan, Reader, Shown
from tests.recovery.made import HALF_CALL, OTHER_HALF_CALL, WHOLE_CALL, facts, snapshot

PERMANENT = FailureClass(FailureKind.INVALID_REQUEST, retryable=False)
OVERLOADED = FailureClass(FailureKind.OVERLOADED, retryable=True)
PREFILL_REFUSED = FailureClass(FailureKind.PREFILL_REFUSED, retryable=False)

TEXT_SHOWN = Shown(anything=True, text_chars=5)
CALL_SHOWN = Shown(anything=True, tool=True)
HALF_CALL_SHOWN = Shown(anything=True, tool=True, live_tool=True)


def decide(
    turn: dict[str, Any],
    request: dict[str, Any] | None = None,
    *,
    reader: Reader = "bytes",
    policy: RecoveryPolicy | None = None,
    error: FailureClass | None = None,
) -> Decision:
    return make_plan(
        snapshot(**turn),
        facts(**(request or {})),
        reader=reader,
        policy=policy or RecoveryPolicy(),
        error=error,
    )


@pytest.mark.parametrize(
    ("turn", "plan"),
    [
        ({"terminal_seen": True, "text": "Hello"}, Plan.COMPLETE),
        ({"stop_reason": "end_turn", "text": "Hello"}, Plan.COMPLETE),
        ({"stop_reason": "max_tokens", "in_flight_tools": (HALF_CALL,)}, Plan.COMPLETE),
        ({"text": "Hello", "completed_tool_calls": (WHOLE_CALL,)}, Plan.SYNTHESIZE_TOOL_USE),
        ({"completed_tool_calls": (WHOLE_CALL,), "in_flight_tools": (HALF_CALL,)}, Plan.SYNTHESIZE_TOOL_USE),
        ({"text": "Hello", "in_flight_tools": (HALF_CALL,)}, Plan.TRUNCATE_BEFORE_TOOL),
        ({"text": "Hello"}, Plan.CONTINUE_TEXT),
        ({"text": "Hello", "reasoning": "Hm", "shown": TEXT_SHOWN}, Plan.CONTINUE_TEXT),
        ({"refusal": "I cannot", "shown": Shown(anything=True, refusal=True)}, Plan.CONTINUE_TEXT),
        ({}, Plan.WHOLE_RESTART),
        ({"text": " \n"}, Plan.WHOLE_RESTART),
        ({"reasoning": "Hm", "shown": Shown(anything=True, reasoning=True)}, Plan.WHOLE_RESTART),
        ({"in_flight_tools": (HALF_CALL,)}, Plan.WHOLE_RESTART),
        ({"text": "\n", "in_flight_tools": (HALF_CALL,)}, Plan.WHOLE_RESTART),
    ],
)
def test_what_the_cut_left_names_the_plan(turn: dict[str, Any], plan: Plan) -> None:
    decision = decide(turn)
    assert decision.plan is plan
    assert decision.refusal is None


def test_a_stop_reason_of_failure_completes_nothing() -> None:
    assert (
        decide({"text": "Hello", "stop_reason": "other", "raw_stop_reason": "abort"}).plan
        is Plan.CONTINUE_TEXT
    )


def test_one_finished_choice_of_two_completes_nothing() -> None:
    turn = {"text": "Hello", "stop_reason": "end_turn", "choices": 2}
    assert decide(turn, reader="typed").plan is Plan.WHOLE_RESTART


def test_every_unfinished_call_is_cancelled_and_hinted() -> None:
    both = (HALF_CALL, OTHER_HALF_CALL)
    decision = decide({"completed_tool_calls": (WHOLE_CALL,), "in_flight_tools": both})
    assert decision.cancelled == both
    assert len(decision.hints) == 2
    assert '"time"' in decision.hints[0]
    assert '"say \\"hi\\""' in decision.hints[1]


def test_every_unfinished_call_is_cancelled_before_text_goes_on() -> None:
    both = (HALF_CALL, OTHER_HALF_CALL)
    assert decide({"text": "Hello", "in_flight_tools": both}).cancelled == both
    assert decide({"text": "Hello", "in_flight_tools": both}).hints == ()


def test_a_reset_needs_no_cancelled_calls() -> None:
    assert decide({"in_flight_tools": (HALF_CALL,)}, reader="typed").cancelled == ()


@pytest.mark.parametrize("error", [PERMANENT, None])
@pytest.mark.parametrize(
    "request_", [{"structured_output": True}, {"forced_tool": True}, {"retained": False}]
)
def test_plans_without_a_request_need_nothing(error: FailureClass | None, request_: dict[str, Any]) -> None:
    calls = {"completed_tool_calls": (WHOLE_CALL,)}
    assert decide(calls, request_, error=error).plan is Plan.SYNTHESIZE_TOOL_USE
    assert decide({"stop_reason": "end_turn"}, request_, error=error).plan is Plan.COMPLETE


@pytest.mark.parametrize(
    "request_",
    [
        {"structured_output": True},
        {"choices": 2},
        {"logprobs": True},
        {"forced_tool": True},
        {"audio": True},
        {"problem": "the request has no list of messages"},
    ],
)
def test_what_cannot_be_joined_is_restarted_or_refused(request_: dict[str, Any]) -> None:
    shown_text = {"text": "Hello", "shown": TEXT_SHOWN}
    assert decide({"text": "Hello"}, request_).plan is Plan.WHOLE_RESTART
    assert decide(shown_text, request_, reader="typed").plan is Plan.WHOLE_RESTART
    refusal = decide(shown_text, request_).refusal
    assert refusal == f"not_continuable: {facts(**request_).unfit}"


def test_a_refusal_beside_text_cannot_be_continued() -> None:
    turn = {"text": "Hello", "refusal": "I cannot", "shown": TEXT_SHOWN}
    assert decide(turn).refusal == "not_continuable: a refusal stands beside other content"
    assert decide(turn, reader="typed").plan is Plan.WHOLE_RESTART


class TestLiveCalls:
    def test_half_a_call_that_left_cannot_be_taken_back_from_a_byte_reader(self) -> None:
        turn = {"text": "Hello", "in_flight_tools": (HALF_CALL,), "shown": HALF_CALL_SHOWN}
        assert decide(turn).refusal == "not_continuable: a tool call that is not whole has already left"
        assert decide(turn, reader="typed").plan is Plan.TRUNCATE_BEFORE_TOOL

    def test_a_byte_reader_with_half_a_call_is_never_told_to_use_tools(self) -> None:
        turn = {
            "completed_tool_calls": (WHOLE_CALL,),
            "in_flight_tools": (HALF_CALL,),
            "shown": HALF_CALL_SHOWN,
        }
        assert decide(turn).plan is None
        assert decide(turn, reader="typed").plan is Plan.SYNTHESIZE_TOOL_USE

    def test_a_whole_call_that_left_is_used(self) -> None:
        turn = {"completed_tool_calls": (WHOLE_CALL,), "in_flight_tools": (HALF_CALL,), "shown": CALL_SHOWN}
        assert decide(turn).plan is Plan.SYNTHESIZE_TOOL_USE


class TestSeveralChoices:
    def test_a_turn_of_several_choices_cannot_end_as_tool_use(self) -> None:
        turn = {"completed_tool_calls": (WHOLE_CALL,), "choices": 2}
        assert decide(turn).plan is Plan.WHOLE_RESTART
        assert decide({**turn, "shown": CALL_SHOWN}).plan is None

    def test_all_choices_ended_is_complete(self) -> None:
        assert decide({"terminal_seen": True, "choices": 2}, {"choices": 2}).plan is Plan.COMPLETE


class TestServerSideItems:
    SHOWN = Shown(anything=True, text_chars=5, server_item=True)

    def test_before_it_left_the_turn_restarts(self) -> None:
        assert decide({"server_items": "open"}).plan is Plan.WHOLE_RESTART
        assert decide({"server_items": "paired", "text": "Hello"}).plan is Plan.WHOLE_RESTART

    def test_behind_text_that_left_a_byte_reader_cannot_restart(self) -> None:
        turn = {"server_items": "open", "text": "Hello", "shown": TEXT_SHOWN}
        assert decide(turn).refusal == "not_continuable: a server-side tool was running"

    @pytest.mark.parametrize("reader", ["bytes", "typed"])
    def test_once_it_left_it_never_runs_again(self, reader: Reader) -> None:
        turn = {"server_items": "open", "text": "Hello", "shown": self.SHOWN}
        refusal = "not_continuable: a server-side tool item has already left"
        assert decide(turn, {"dialect": "anthropic"}, reader=reader).refusal == refusal
        assert decide({**turn, "server_items": "paired"}, reader=reader).refusal == refusal

    def test_anthropic_goes_on_behind_paired_items_by_prompt_only(self) -> None:
        turn = {"server_items": "paired", "text": "Hello", "shown": self.SHOWN}
        decision = decide(turn, {"dialect": "anthropic"})
        assert decision.plan is Plan.CONTINUE_TEXT
        assert decision.strategies == ("prompt",)

    def test_behind_paired_items_an_unfinished_call_is_dropped(self) -> None:
        turn = {
            "server_items": "paired",
            "text": "Hello",
            "in_flight_tools": (HALF_CALL,),
            "shown": self.SHOWN,
        }
        decision = decide(turn, {"dialect": "anthropic"})
        assert decision.plan is Plan.TRUNCATE_BEFORE_TOOL
        assert decision.cancelled == (HALF_CALL,)
        assert decision.strategies == ("prompt",)

    def test_not_even_after_a_refused_seam_does_a_typed_reader_restart_it(self) -> None:
        turn = snapshot(server_items="paired", text="Hello", shown=self.SHOWN)
        assert plan_restart(turn, facts(), "typed", "the seam was refused").plan is None

    def test_behind_paired_items_without_text_there_is_nothing_to_go_on_from(self) -> None:
        turn = {"server_items": "paired", "shown": self.SHOWN}
        assert decide(turn, {"dialect": "anthropic"}, reader="typed").plan is None


class TestErrors:
    def test_a_permanent_error_forbids_requests(self) -> None:
        refusal = "not_continuable: the provider's error is permanent (invalid_request)"
        assert decide({"text": "Hello"}, error=PERMANENT).refusal == refusal
        assert decide({}, error=PERMANENT).refusal == refusal

    @pytest.mark.parametrize("error", [OVERLOADED, PREFILL_REFUSED])
    def test_others_do_not(self, error: FailureClass) -> None:
        assert decide({"text": "Hello"}, error=error).plan is Plan.CONTINUE_TEXT


class TestAllowAfterStart:
    POLICY = RecoveryPolicy(allow_after_start=False)

    @pytest.mark.parametrize(
        "turn",
        [
            {"text": "Hello"},
            {"reasoning": "Hm"},
            {"refusal": "No"},
            {"in_flight_tools": (HALF_CALL,)},
            {"server_items": "open"},
            {"shown": Shown(anything=True, text_chars=1)},
        ],
    )
    def test_no_request_after_content(self, turn: dict[str, Any]) -> None:
        refusal = "not_continuable: the policy allows no request after the answer has started"
        assert decide(turn, policy=self.POLICY, reader="typed").refusal == refusal

    def test_before_content_the_request_is_sent_again(self) -> None:
        started = {"shown": Shown(anything=True), "bytes_received": 200}
        assert decide(started, policy=self.POLICY).plan is Plan.WHOLE_RESTART

    def test_plans_without_a_request_stay(self) -> None:
        assert decide({"terminal_seen": True}, policy=self.POLICY).plan is Plan.COMPLETE
        calls = {"completed_tool_calls": (WHOLE_CALL,)}
        assert decide(calls, policy=self.POLICY).plan is Plan.SYNTHESIZE_TOOL_USE


def test_a_request_that_was_not_kept_cannot_be_sent() -> None:
    decision = decide({}, {"retained": False, "problem": "the request was too large to be kept"})
    assert decision.refusal == "not_continuable: the request was too large to be kept"


def test_a_degraded_run_is_not_recovered() -> None:
    degraded = {"degraded": "max_turn_bytes", "completed_tool_calls": (WHOLE_CALL,)}
    assert decide(degraded).refusal == "not_continuable: recovery is off for this run (max_turn_bytes)"
    assert decide({**degraded, "terminal_seen": True}).plan is Plan.COMPLETE
