"""Every reported case gives its right value, however the bytes are cut into reads."""

from __future__ import annotations

import json
from typing import Any

import pytest

from seamstream._core import Splice, SseDecoder
from seamstream.driver.snapshots import read_snapshot
from seamstream.recovery.continuation.request import RequestFacts
from seamstream.recovery.planner import make_plan
from seamstream.recovery.policy import RecoveryPolicy
from tests.cases.case import Case, load

CASES = load()
USAGE_FIELDS = 2


def _snapshot(case: Case, reads: list[bytes], reader: Any = "bytes") -> dict[str, Any]:
    splice = Splice(case.dialect, reader=reader, **case.options)
    for read in reads:
        splice.feed(read)
    if not splice.done:
        splice.cut()
    return splice.snapshot()


def _plain(value: Any) -> Any:
    """Tuples as lists, so that values from JSON and from the core compare."""
    return json.loads(json.dumps(value)) if isinstance(value, tuple | list | dict) else value


def _differences(case: Case, snapshot: dict[str, Any]) -> dict[str, Any]:
    wrong = {key: snapshot[key] for key, right in case.expect.items() if _plain(snapshot[key]) != right}
    for key, check in CHECKS.items():
        if key in case.more and not check(case.more[key], snapshot):
            wrong[key] = snapshot
    return wrong


def _usage_is(right: list[int], snapshot: dict[str, Any]) -> bool:
    return list(snapshot["usage"][:USAGE_FIELDS]) == right


def _in_flight_is(right: list[list[str]], snapshot: dict[str, Any]) -> bool:
    return _plain(snapshot["in_flight_tools"]) == right


def _calls_parse_to(right: list[list[Any]], snapshot: dict[str, Any]) -> bool:
    calls = snapshot["completed_tool_calls"]
    return [[call_id, name, json.loads(raw)] for call_id, name, raw, _ in calls] == right


def _thinking_is(right: list[dict[str, str]], snapshot: dict[str, Any]) -> bool:
    return [json.loads(block) for block in snapshot["signed_thinking"]] == right


def _error_is(right: dict[str, Any], snapshot: dict[str, Any]) -> bool:
    if snapshot["error"] is None:
        return False
    found = dict(zip(("type", "code", "status", "message", "raw"), snapshot["error"], strict=True))
    held = right.get("message_holds", "")
    return held in found["message"] and all(
        found[key] == value for key, value in right.items() if key != "message_holds"
    )


CHECKS = {
    "usage": _usage_is,
    "in_flight": _in_flight_is,
    "parsed_calls": _calls_parse_to,
    "thinking": _thinking_is,
    "error": _error_is,
}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_snapshot_is_right_at_every_split(case: Case) -> None:
    for reads in case.every_cut():
        wrong = _differences(case, _snapshot(case, reads))
        assert not wrong, (wrong, reads[0])


@pytest.mark.parametrize("case", [case for case in CASES if case.plan], ids=str)
def test_the_plan_that_follows_is_right(case: Case) -> None:
    """For a typed reader, whom nothing shown binds."""
    snapshot = read_snapshot(_snapshot(case, list(case.reads), reader="typed"))
    facts = RequestFacts(case.dialect, choices=case.options.get("choices", 1))
    decision = make_plan(snapshot, facts, reader="typed", policy=RecoveryPolicy())
    assert decision.plan is not None
    assert decision.plan.value == case.plan


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_typed_reader_sees_the_same(case: Case) -> None:
    assert not _differences(case, _snapshot(case, list(case.reads), reader="typed"))


@pytest.mark.parametrize("case", [case for case in CASES if "framing" in case.more], ids=str)
def test_the_framing_dispatches_the_same_events_at_every_split(case: Case) -> None:
    whole = SseDecoder()
    expected = [(event.event, event.data, event.id) for event in whole.feed(case.data)]
    assert len(expected) == case.more["framing"]
    for reads in case.every_cut():
        decoder = SseDecoder()
        found = [event for read in reads for event in decoder.feed(read)]
        assert [(event.event, event.data, event.id) for event in found] == expected
