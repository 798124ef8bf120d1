"""Letting time pass without the reader thinking that nobody is there."""

from __future__ import annotations

from ..effects import Wait
from .parts import Parts, Steps


def wait(run: Parts, seconds: float, reason: str) -> Steps:
    """Wait; a byte reader gets its dialect's keep-alives meanwhile."""
    until = run.clock.monotonic() + seconds
    while (now := run.clock.monotonic()) < until:
        if now >= run.timers.keepalive_at() and (emit := run.intake.keepalive(now)) is not None:
            yield emit
        yield Wait(max(0.0, min(until, run.timers.keepalive_at()) - now), reason)
