"""How long to wait before the next attempt. A server's wish is a floor and is never cut short."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import WAIT_TOO_LONG
from ..types import InterruptCause, Provider5xxMidStream
from .policy import RecoveryPolicy

# 2 ** 1024 is no float; the cap of any sane policy is reached long before.
_MOST_DOUBLINGS = 64


@dataclass(frozen=True, slots=True)
class WaitDecision:
    """How long to wait, or `refusal` (an error code) when the server asks for more than the policy allows."""

    seconds: float = 0.0
    refusal: str | None = None


def decide_wait(
    policy: RecoveryPolicy,
    *,
    reconnect: int,
    cause: InterruptCause | None,
    server_wait_s: float | None,
    random: float,
    spread_s: float = 0.0,
    elsewhere: bool = False,
) -> WaitDecision:
    """The wait before reconnect number `reconnect` (from 1) since the last content.

    `cause` is None when the last attempt failed before its stream began. The first reconnect after a
    connection that just broke goes at once, unless many streams of the target broke together: then it waits
    `spread_s`. So does one that goes `elsewhere`, to a target that has not failed this run.
    """
    if server_wait_s is not None and server_wait_s > policy.max_retry_after_s:
        return WaitDecision(server_wait_s, WAIT_TOO_LONG)
    lone_break = reconnect == 1 and cause is not None and not isinstance(cause, Provider5xxMidStream)
    own_wait_s = spread_s if lone_break or elsewhere else backoff_s(policy, reconnect, random) + spread_s
    return WaitDecision(max(own_wait_s, server_wait_s or 0.0))


def backoff_s(policy: RecoveryPolicy, reconnect: int, random: float) -> float:
    """A random share of the ceiling: `first_s` * `factor` ** (reconnect - 1), at most `max_s`."""
    backoff = policy.backoff
    ceiling = backoff.first_s * backoff.factor ** min(reconnect - 1, _MOST_DOUBLINGS)
    return random * min(ceiling, backoff.max_s)
