"""Timers as arithmetic: what is due when, and that a paused reader stops all of it."""

from __future__ import annotations

import math
from typing import Any

import pytest

from seamstream import RecoveryPolicy
from seamstream.driver.timers import Due, Timers

POLICY = RecoveryPolicy(
    first_content_s=50.0,
    idle_s=20.0,
    quiet_s=90.0,
    stall_warn_s=15.0,
    keepalive_s=10.0,
    checkpoint_every_s=1.0,
)


def timers(**options: Any) -> Timers:
    return Timers(POLICY, 100.0, **{"checkpoints": False, "keepalives": True, **options})


@pytest.mark.parametrize(("phase", "limit_s"), [("start", 50.0), ("text", 20.0), ("quiet", 90.0)])
def test_each_phase_has_its_own_limit(phase: Any, limit_s: float) -> None:
    clock = timers()
    clock.warned()
    assert clock.due(100.0 + limit_s - 0.01, phase) is None
    assert clock.due(100.0 + limit_s, phase) is Due.STALL


def test_progress_begins_the_wait_anew() -> None:
    clock = timers()
    clock.progress_at = 118.0
    assert clock.due(130.0, "text") is None
    assert clock.due(138.0, "text") is Due.STALL


def test_a_timer_never_sleeps_over_a_change_of_phase() -> None:
    """Reasoning may take 90 s, but the text that follows it must not stand still for more than 20."""
    clock = timers()
    clock.warned()
    assert clock.wake_at(100.0, "quiet") == 120.0


def test_a_warning_comes_once_for_each_silence() -> None:
    clock = timers()
    assert clock.due(115.0, "quiet") is Due.WARN
    clock.warned()
    assert clock.due(119.0, "quiet") is None
    clock.progress_at = 130.0
    assert clock.due(145.0, "quiet") is Due.WARN


@pytest.mark.parametrize(
    ("hold", "limit_s"),
    [
        ("preamble", POLICY.hold_preamble_s),
        ("tool", POLICY.hold_tools_s),
        ("seam", POLICY.hold_seam_s),
        ("end", POLICY.terminal_grace_s),
    ],
)
def test_what_is_held_is_held_no_longer_than_this(hold: Any, limit_s: float) -> None:
    clock = timers()
    assert clock.holding(hold, 100.0, something_left=False)
    assert clock.wake_at(100.0, "quiet") == 100.0 + limit_s
    assert clock.due(100.0 + limit_s - 0.01, "quiet") is None
    assert clock.due(100.0 + limit_s, "quiet") is Due.HOLD
    clock.expired(None, 100.0 + limit_s)
    assert clock.due(100.0 + limit_s, "quiet") is None


def test_what_waits_for_content_is_due_at_no_time_but_the_reader_is_kept_alive() -> None:
    clock = timers()
    clock.holding("tool", 100.0, something_left=False)
    clock.expired("content", 102.0)
    assert clock.due(109.0, "quiet") is None
    assert clock.due(110.0, "quiet") is Due.KEEPALIVE


def test_a_hold_counts_from_its_beginning_or_from_what_left_last() -> None:
    clock = timers()
    clock.holding("tool", 100.0, something_left=False)
    assert not clock.holding("tool", 101.0, something_left=False)
    assert clock.due(102.0, "quiet") is Due.HOLD
    assert clock.holding("tool", 101.5, something_left=True)
    assert clock.due(102.0, "quiet") is None


def test_keep_alives_come_while_something_is_held_or_reconnected() -> None:
    clock = timers()
    assert clock.keepalive_at() == math.inf
    clock.reconnecting = True
    assert clock.due(109.0, "quiet") is None
    assert clock.due(110.0, "quiet") is Due.KEEPALIVE
    clock.emitted(110.0)
    assert clock.due(119.0, "quiet") is Due.WARN
    assert clock.due(120.0, "quiet") is Due.KEEPALIVE


def test_a_typed_reader_needs_no_keep_alives() -> None:
    clock = timers(keepalives=False)
    clock.reconnecting = True
    assert clock.keepalive_at() == math.inf


def test_checkpoints_are_due_while_there_is_something_new() -> None:
    clock = timers(checkpoints=True)
    clock.progress_at = 100.2
    assert clock.due(100.9, "text") is None
    assert clock.due(101.0, "text") is Due.CHECKPOINT
    clock.checkpoint_at = 101.0
    assert clock.due(105.0, "text") is None


def test_a_paused_reader_stops_every_timer() -> None:
    clock = timers()
    clock.holding("tool", 100.0, something_left=False)
    clock.give_up_at = 130.0
    clock.pause(101.0)
    assert clock.due(10_000.0, "text") is None
    assert clock.wake_at(10_000.0, "text") == math.inf
    clock.resume(401.0)
    assert clock.due(401.9, "text") is None
    assert clock.due(402.0, "text") is Due.HOLD
    clock.expired(None, 402.0)
    assert clock.due(419.9, "text") is not Due.STALL
    assert clock.due(420.0, "text") is Due.STALL
    assert clock.give_up_at == 430.0


def test_recovery_is_given_up_when_its_time_is_over() -> None:
    clock = timers()
    clock.give_up_at = 105.0
    assert clock.wake_at(100.0, "start") == 105.0
    assert clock.due(105.0, "start") is Due.GIVE_UP


def test_stopped_is_stopped() -> None:
    clock = timers()
    clock.stop()
    clock.resume(500.0)
    assert clock.due(10_000.0, "text") is None
