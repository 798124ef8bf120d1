"""Waits before the next attempt."""

from __future__ import annotations

import pytest

from seamstream.errors import WAIT_TOO_LONG
from seamstream.recovery.backoff import WaitDecision, backoff_s, decide_wait
from seamstream.recovery.policy import BackoffPolicy, RecoveryPolicy
from seamstream.types import ConnectionReset, EarlyEof, IdleStall, InterruptCause, Provider5xxMidStream

POLICY = RecoveryPolicy(backoff=BackoffPolicy(first_s=0.5, factor=2.0, max_s=8.0), max_retry_after_s=120.0)


def wait(
    reconnect: int,
    cause: InterruptCause | None,
    server_wait_s: float | None = None,
    random: float = 0.5,
    spread_s: float = 0.0,
) -> WaitDecision:
    return decide_wait(
        POLICY,
        reconnect=reconnect,
        cause=cause,
        server_wait_s=server_wait_s,
        random=random,
        spread_s=spread_s,
    )


@pytest.mark.parametrize(
    ("reconnect", "ceiling_s"), [(1, 0.5), (2, 1.0), (3, 2.0), (5, 8.0), (6, 8.0), (100_000, 8.0)]
)
def test_full_jitter_below_an_exponential_ceiling(reconnect: int, ceiling_s: float) -> None:
    assert backoff_s(POLICY, reconnect, 0.0) == 0.0
    assert backoff_s(POLICY, reconnect, 0.5) == pytest.approx(ceiling_s / 2)
    assert backoff_s(POLICY, reconnect, 0.999) < ceiling_s


@pytest.mark.parametrize("cause", [ConnectionReset(), EarlyEof(), IdleStall()])
def test_the_first_reconnect_after_a_lone_break_goes_at_once(cause: InterruptCause) -> None:
    assert wait(1, cause) == WaitDecision(0.0)
    assert wait(2, cause) == WaitDecision(0.5)


@pytest.mark.parametrize("cause", [Provider5xxMidStream(529), None])
def test_a_provider_in_trouble_is_given_time(cause: InterruptCause | None) -> None:
    assert wait(1, cause) == WaitDecision(0.25)


def test_breaks_of_many_streams_are_spread() -> None:
    assert wait(1, ConnectionReset(), spread_s=3.5) == WaitDecision(3.5)
    assert wait(2, ConnectionReset(), spread_s=3.5) == WaitDecision(4.0)


def test_the_servers_wish_is_a_floor() -> None:
    assert wait(1, ConnectionReset(), server_wait_s=7.0) == WaitDecision(7.0)
    assert wait(4, None, server_wait_s=0.1) == WaitDecision(2.0)
    assert wait(1, None, server_wait_s=120.0) == WaitDecision(120.0)


def test_too_long_a_wish_ends_the_run_and_is_never_cut_short() -> None:
    assert wait(1, None, server_wait_s=120.5) == WaitDecision(120.5, WAIT_TOO_LONG)
