"""The planner over the whole product of its inputs, against the rules stated a second time as "exactly when".

The planner decides in an order; here every plan has one condition, and no condition looks at another's order
except that the first plan of the table wins. Content that was shown was also received, so the product holds
only those states.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from seamstream.recovery.classify import FailureClass
from seamstream.recovery.continuation.request import Dialect, RequestFacts
from seamstream.recovery.error_codes import FailureKind
from seamstream.recovery.planner import make_plan
from seamstream.recovery.policy import RecoveryPolicy
from seamstream.types import Plan, Reader, Shown, Snapshot
from tests.recovery.made import HALF_CALL, OTHER_HALF_CALL, WHOLE_CALL, facts, snapshot

ABSENT, HELD, LEFT = "absent", "held", "left"
STATES = (ABSENT, HELD, LEFT)

ERRORS = (
    None,
    FailureClass(FailureKind.OVERLOADED, retryable=True),
    FailureClass(FailureKind.QUOTA, retryable=False),
    FailureClass(FailureKind.PREFILL_REFUSED, retryable=False),
)
POLICIES = (RecoveryPolicy(), RecoveryPolicy(allow_after_start=False))
REQUESTS = (
    {},
    {"structured_output": True},
    {"logprobs": True},
    {"forced_tool": True},
    {"audio": True},
    {"choices": 2},
    {"problem": "unreadable"},
    {"retained": False, "problem": "not kept"},
)
ENDS = ("cut", "terminal", "stop", "abnormal stop")


@dataclass(frozen=True)
class Left:
    """What a cut left, in words. `text` is (its kind, where it is)."""

    end: str
    degraded: bool
    text: tuple[str, str]
    refusal: str
    reasoning: bool
    whole_call: str
    half_call: str
    server: tuple[str, str]
    seen_choices: int

    def snapshot(self) -> Snapshot:
        kind, text_state = self.text
        words = {"none": "", "blank": " \n", "real": "Hello"}[kind]
        stop = {"stop": ("end_turn", "stop"), "abnormal stop": ("other", "abort")}.get(self.end, (None, None))
        tool_left = LEFT in (self.whole_call, self.half_call)
        shown = Shown(
            anything=True,
            text_chars=len(words) if text_state == LEFT else 0,
            refusal=self.refusal == LEFT,
            reasoning=self.reasoning,
            tool=tool_left,
            live_tool=self.half_call == LEFT,
            server_item=self.server[1] == LEFT,
        )
        return snapshot(
            text=words,
            refusal="" if self.refusal == ABSENT else "I cannot",
            reasoning="Hm" if self.reasoning else "",
            completed_tool_calls=() if self.whole_call == ABSENT else (WHOLE_CALL,),
            in_flight_tools=() if self.half_call == ABSENT else (HALF_CALL, OTHER_HALF_CALL),
            server_items=self.server[0],
            stop_reason=stop[0],
            raw_stop_reason=stop[1],
            terminal_seen=self.end == "terminal",
            degraded="limit" if self.degraded else None,
            choices=self.seen_choices,
            shown=shown,
        )


def everything_a_cut_can_leave() -> Iterator[Left]:
    texts = [("none", ABSENT), ("blank", HELD), ("blank", LEFT), ("real", HELD), ("real", LEFT)]
    servers = [("none", ABSENT), ("open", HELD), ("open", LEFT), ("paired", HELD), ("paired", LEFT)]
    parts = (texts, STATES, (False, True), STATES, STATES, servers)
    for end, degraded, choices in itertools.product(ENDS, (False, True), (1, 2)):
        for text, refusal, reasoning, whole, half, server in itertools.product(*parts):
            yield Left(end, degraded, text, refusal, reasoning, whole, half, server, choices)


def expected(
    left: Left, request: RequestFacts, reader: Reader, policy: RecoveryPolicy, error: FailureClass | None
) -> Plan | None:
    single = request.choices == 1 and left.seen_choices == 1
    whole = left.end == "terminal" or (left.end == "stop" and single)
    real_text, refused = left.text[0] == "real", left.refusal != ABSENT
    half, half_left = left.half_call != ABSENT, left.half_call == LEFT
    call_left = half_left or left.whole_call == LEFT
    started = (
        real_text or left.text[1] == LEFT or refused or left.reasoning or left.whole_call != ABSENT
        or half or left.server[0] != "none"
    )  # fmt: skip
    may_ask = (
        not left.degraded
        and (error is None or error.kind is not FailureKind.QUOTA)
        and (policy.allow_after_start or not started)
        and request.retained
    )
    fits = single and request.unfit is None and not (reader == "bytes" and call_left)
    goes_on = (real_text and not refused) or (refused and not real_text and not half)
    server_lets_go_on = left.server[0] == "none" or (
        left.server == ("paired", LEFT) and request.dialect == "anthropic"
    )
    nothing_twice = left.text[1] != LEFT and left.refusal != LEFT and not call_left
    nothing_kept = not (left.reasoning and request.dialect == "openai-responses")

    if whole:
        return Plan.COMPLETE
    if left.whole_call != ABSENT and single and not left.degraded and not (reader == "bytes" and half_left):
        return Plan.SYNTHESIZE_TOOL_USE
    if may_ask and fits and goes_on and server_lets_go_on:
        return Plan.TRUNCATE_BEFORE_TOOL if half else Plan.CONTINUE_TEXT
    if may_ask and left.server[1] != LEFT and (reader == "typed" or (nothing_twice and nothing_kept)):
        return Plan.WHOLE_RESTART
    return None


@pytest.mark.parametrize("dialect", ["openai-chat", "openai-responses", "anthropic"])
@pytest.mark.parametrize("reader", ["bytes", "typed"])
def test_every_input_has_the_plan_that_the_rules_say(reader: Reader, dialect: Dialect) -> None:
    requests = [facts(dialect=dialect, **fields) for fields in REQUESTS]
    others = list(itertools.product(requests, POLICIES, ERRORS))
    seen: set[Plan | None] = set()
    for left in everything_a_cut_can_leave():
        turn = left.snapshot()
        for request, policy, error in others:
            decision = make_plan(turn, request, reader=reader, policy=policy, error=error)
            plan = expected(left, request, reader, policy, error)
            assert decision.plan is plan, (left, request, policy.allow_after_start, error)
            assert (decision.refusal is None) is (plan is not None)
            seen.add(plan)
    assert seen == {*Plan, None}
