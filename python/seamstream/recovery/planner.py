"""From what a cut left behind to the plan: one pure function over the table of plans R0 to R4.

The plan is made before any budget is looked at, because R0 and R2 need no request and so no budget. Where a
plan that continues cannot fit, a whole restart is tried; where that would repeat what the reader already has,
the answer is an honest refusal. Calls here are those that the client executes; blank text is no text; every
unfinished call counts. A byte reader that holds half a call is never told that the turn ended in tool use,
because its client would execute that half.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final

from ..types import PartialToolCall, Plan, Reader, Snapshot
from .classify import FailureClass
from .continuation.facts import RequestFacts
from .policy import RecoveryPolicy

REFUSAL_CODE: Final = "not_continuable"

# Stop reasons by which servers say that they did not finish. The core reports them as errors; a snapshot that
# still carries one raw proves nothing about completeness.
ABNORMAL_STOPS: Final = frozenset({"error", "abort", "insufficient_system_resource"})


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do about a cut. `plan` or `refusal` is set, never both.

    `cancelled` are unfinished calls that a reader must drop, `hints` what the next user message should tell
    the model, `strategies` narrows the ways of asking for the rest (None: any that the provider accepts).
    """

    plan: Plan | None
    refusal: str | None = None
    cancelled: tuple[PartialToolCall, ...] = ()
    hints: tuple[str, ...] = ()
    strategies: tuple[str, ...] | None = None


def make_plan(
    snapshot: Snapshot,
    facts: RequestFacts,
    *,
    reader: Reader,
    policy: RecoveryPolicy,
    error: FailureClass | None = None,
    resumable: bool = False,
) -> Decision:
    """Decide about a cut. `error` is the classified failure that caused it; None: the connection broke.

    `resumable`: the server still has this response's stream. Then nothing else is half as good, whatever was
    asked for and has been shown: complete calls need not stay without those that follow them.
    """
    if is_complete(snapshot, facts):
        return Decision(Plan.COMPLETE)
    if snapshot.degraded is not None:
        return _refuse(f"recovery is off for this run ({snapshot.degraded})")
    if resumable and _forbids_requests(snapshot, facts, policy, error) is None:
        return Decision(Plan.CONTINUE_TEXT, strategies=("resume",))
    single = max(facts.choices, snapshot.choices) <= 1
    half_call_left = reader == "bytes" and snapshot.shown.live_tool
    if snapshot.completed_tool_calls and single and not half_call_left:
        calls = snapshot.in_flight_tools
        return Decision(Plan.SYNTHESIZE_TOOL_USE, cancelled=calls, hints=tuple(map(hint_of, calls)))
    if (why := _forbids_requests(snapshot, facts, policy, error)) is not None:
        return _refuse(why)
    if snapshot.server_items != "none" and snapshot.shown.server_item:
        return _after_server_item(snapshot, facts, reader)
    if snapshot.server_items != "none":
        return plan_restart(snapshot, facts, reader, "a server-side tool was running")
    if (why := _cannot_continue(snapshot, facts, reader)) is not None:
        return plan_restart(snapshot, facts, reader, why)
    return _continue(snapshot)


def is_complete(snapshot: Snapshot, facts: RequestFacts) -> bool:
    """The answer itself was whole: its proof came, or a normal stop reason of its only choice."""
    if snapshot.terminal_seen:
        return True
    if max(facts.choices, snapshot.choices) > 1:
        return False
    return snapshot.stop_reason is not None and snapshot.raw_stop_reason not in ABNORMAL_STOPS


def has_content(snapshot: Snapshot) -> bool:
    """Content was received or has left: a request from now on would be one after the start."""
    received = snapshot.text.strip() or snapshot.reasoning.strip() or snapshot.refusal.strip()
    tools = snapshot.completed_tool_calls or snapshot.in_flight_tools or snapshot.server_items != "none"
    shown = snapshot.shown
    left = shown.text_chars or shown.refusal or shown.reasoning or shown.tool or shown.server_item
    return bool(received or tools or left)


def hint_of(call: PartialToolCall) -> str:
    """What the model should hear about a call that never became whole. Its name, model text, is quoted."""
    name = json.dumps(call.name, ensure_ascii=False)
    return (
        f"The call of tool {name} was cut off before its arguments were complete and was not executed. "
        "Call it again if it is still needed."
    )


def _forbids_requests(
    snapshot: Snapshot, facts: RequestFacts, policy: RecoveryPolicy, error: FailureClass | None
) -> str | None:
    if error is not None and error.forbids_requests:
        return f"the provider's error is permanent ({error.kind.value})"
    if not policy.allow_after_start and has_content(snapshot):
        return "the policy allows no request after the answer has started"
    if not facts.retained:
        return facts.problem or "the request was not kept"
    return None


def _after_server_item(snapshot: Snapshot, facts: RequestFacts, reader: Reader) -> Decision:
    """A server-side tool must not run again; only Anthropic can go on, and only in a new turn."""
    if facts.dialect != "anthropic" or snapshot.server_items != "paired":
        return _refuse("a server-side tool item has already left")
    if (why := _cannot_continue(snapshot, facts, reader)) is not None:
        return _refuse(why)
    decision = _continue(snapshot)
    return Decision(decision.plan, cancelled=decision.cancelled, strategies=("prompt",))


def _cannot_continue(snapshot: Snapshot, facts: RequestFacts, reader: Reader) -> str | None:
    """Why the text so far cannot be the beginning of the next attempt's answer."""
    if reader == "bytes" and (snapshot.shown.tool or snapshot.shown.live_tool):
        return "a tool call that is not whole has already left"
    if not snapshot.text.strip() and not snapshot.refusal.strip():
        return "there is no text to continue"
    if snapshot.refusal.strip() and (snapshot.text.strip() or snapshot.in_flight_tools):
        return "a refusal stands beside other content"
    if snapshot.choices > 1:
        return "several choices came"
    return facts.unfit


def _continue(snapshot: Snapshot) -> Decision:
    if snapshot.in_flight_tools:
        return Decision(Plan.TRUNCATE_BEFORE_TOOL, cancelled=snapshot.in_flight_tools)
    return Decision(Plan.CONTINUE_TEXT)


def plan_restart(snapshot: Snapshot, facts: RequestFacts, reader: Reader, why: str) -> Decision:
    """Restart where nothing that would be repeated has left.

    Shown reasoning forbids it only in OpenAI Responses, where later requests would send it back as an item.
    """
    shown = snapshot.shown
    if shown.server_item:
        return _refuse(f"{why}, and a server-side tool item has already left")
    if reader == "typed":
        return Decision(Plan.WHOLE_RESTART)
    if facts.dialect == "openai-responses" and shown.reasoning:
        return _refuse(f"{why}, and a reasoning item has already left")
    if shown.text_chars or shown.refusal or shown.tool or shown.live_tool:
        return _refuse(why)
    return Decision(Plan.WHOLE_RESTART)


def _refuse(why: str) -> Decision:
    return Decision(None, refusal=f"{REFUSAL_CODE}: {why}")
