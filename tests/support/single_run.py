"""Sends one stream through the driver for a byte reader, without sockets, on a clock that the body moves."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from seamstream.driver import Driver, RunSpec, Services
from seamstream.effects import TIMED_OUT, Broke, Open, Opened, Result
from seamstream.recovery.continuation.profiles import ProfileBook
from seamstream.recovery.policy import RecoveryPolicy
from seamstream.recovery.retry_budget import RetryBudget
from seamstream.testing.clock import FakeClock
from tests.corpus import CorpusStream
from tests.corpus.stream import choices_of
from tests.support.pure_run import SyncRun, run_sync

PAUSED_READER = b""
"""In a script: the time until the next step passes while the reader takes nothing."""

Script = Iterator[tuple[float, bytes]]
"""Steps: seconds after the one before, and the bytes that arrive then."""


@dataclass(frozen=True)
class Ran:
    """The run, its driver, and the seconds that it took."""

    run: SyncRun
    driver: Driver
    took_s: float


def run_healthy(
    stream: CorpusStream,
    script: Callable[[bytes], Script],
    *,
    policy: RecoveryPolicy | None = None,
    **spec: Any,
) -> Ran:
    """Play `stream` as `script` delivers it and end it cleanly. Every request gets the same answer."""
    clock = FakeClock()
    services = Services(clock, profiles=ProfileBook(), budget=RetryBudget())
    facts = {"body": json.dumps(stream.request).encode(), "choices": choices_of(stream), **spec}
    run_spec = RunSpec(
        run_id="run",
        dialect=stream.dialect,
        target="http://provider.test:80",
        host="provider.test",
        reader="bytes",
        policy=policy or RecoveryPolicy(),
        mode="recover",
        **facts,
    )
    driver, begun = Driver(run_spec, services), clock.monotonic()

    def transport(_: Open) -> tuple[Opened, Iterator[bytes | Broke | Result]]:
        head = Opened(200, {"content-type": "text/event-stream"}, True)
        return head, _timeline(driver, clock, script(stream.data))

    run = run_sync(driver, transport, clock.tick)
    return Ran(run, driver, clock.monotonic() - begun)


def _timeline(driver: Driver, clock: FakeClock, script: Script) -> Iterator[bytes | Broke | Result]:
    """Lets the driver's timers fall due in between, unless the reader is paused."""
    at = clock.monotonic()
    paused = False
    for gap_s, data in script:
        at += gap_s
        while not paused and driver.timers.wake_at(clock.monotonic(), driver.intake.phase) <= at:
            yield TIMED_OUT
        clock.tick(at - clock.monotonic())
        if paused:
            driver.timers.resume(clock.monotonic())
        paused = data is PAUSED_READER
        if paused:
            driver.timers.pause(clock.monotonic())
        else:
            yield data
