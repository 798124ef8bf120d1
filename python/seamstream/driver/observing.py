"""A run that is only watched: its bytes went to the reader already, and what would have been done is
recorded.
"""

from __future__ import annotations

from typing import Final

from ..effects import LOOKED, Broke, Opened
from ..errors import RECOVERY_OFF
from ..recovery.causes import BodyEnd, cause_of_end
from ..recovery.classify import classify_http, network_failure
from ..types import Plan
from .attempting import setback_of, warn, with_last_words
from .guard import WHOLE
from .parts import Parts
from .requests import GiveUp, Setback
from .spec import RunSpec, Services
from .timers import Due

_WATCHED: Final = "the run was only observed"


class Observer(Parts):
    """Records one attempt. `over` when there is nothing more to watch."""

    def __init__(self, spec: RunSpec, services: Services) -> None:
        super().__init__(spec, services)
        self.over = False
        self._opened = False
        self.history.requested(1, plan=None, strategy=None)

    def answered(self, opened: Opened) -> None:
        """Response headers came. An answer that is no stream ends the watch."""
        self.history.answered(opened.status, opened.headers)
        if opened.stream:
            self._opened = True
            self.targets.open(self.clock.monotonic())
            self.history.began_streaming(restart=False, text_before=0)
            self.timers.restart(self.clock.monotonic())
            return
        failure = classify_http(opened.status, opened.headers, opened.body, now=self.clock.wall())
        self._fail(Setback(None, failure, opened=opened))

    def failed(self, error: Exception) -> None:
        """No response came."""
        self._fail(Setback(None, network_failure(str(error)), error))

    def look(self) -> None:
        """Something in the stream needs attention."""
        self.intake.attention = False
        flags = self.intake.flags
        if flags & WHOLE:
            self._succeed()
        elif (setback := setback_of(self, flags, LOOKED)) is not None:
            self._cut(setback)

    def timer(self) -> None:
        """A timer of the run is due."""
        now = self.clock.monotonic()
        due = self.timers.due(now, self.intake.phase)
        if due is Due.STALL:
            self._cut(Setback(cause_of_end(BodyEnd.STALLED)))
        elif due is Due.HOLD:
            self.guard.act(lambda splice: splice.expire())
            self.intake.settle_hold(now)
        elif due is Due.WARN:
            warn(self)
        elif due is Due.KEEPALIVE:
            self.timers.emitted(now)
        if self.intake.flags & WHOLE and not self.over:
            self._succeed()

    def ended(self, broke: Broke) -> None:
        """The body is over."""
        if self.over:
            return
        if self.intake.flags & WHOLE or (self.guard.degraded is not None and broke.error is None):
            self._succeed()
        else:
            self._cut(Setback(cause_of_end(broke.end), error=broke.error))

    def left(self) -> None:
        """The reader has left."""
        if not self.over:
            self.record_leaving()
            self._close()

    def _succeed(self) -> None:
        self.note_content()
        degraded = self.guard.degraded
        self.turn = self.history.succeeded(self.snapshot, self.core_facts(), degraded=degraded, salvaged=None)
        self._close()

    def _cut(self, setback: Setback) -> None:
        if self.spec.body is not None:
            choices = self.decider.asking.facts.choices
            self.guard.ask(lambda splice: splice.expect_choices(choices), None)
        self.guard.act(lambda splice: splice.cut(), ends_attempt=True)
        setback = with_last_words(self, setback)
        self.note_content()
        inferred = setback.cause is not None and setback.cause.inferred
        self.targets.account.cut(self.clock.monotonic(), inferred=inferred)
        self._fail(setback)

    def _fail(self, setback: Setback) -> None:
        if not self._opened and not self.spec.wants_stream:
            self.history.discard()
        plan = self.decider.plan(setback, self.snapshot).plan if self.snapshot is not None else None
        if plan is Plan.COMPLETE:
            self._succeed()
            return
        would_be = plan.value if plan is not None else None
        error = setback.failure.kind.value if setback.cause is None and setback.failure is not None else None
        cause = str(setback.cause) if setback.cause is not None else None
        self.history.failed(cause=cause, plan=would_be, error=error)
        self.record_end(GiveUp(RECOVERY_OFF, f"{_WATCHED}; the plan would have been {would_be}"))
        self._close()

    def _close(self) -> None:
        self.over = True
        self.timers.stop()
        if self._opened:
            self._opened = False
            self.targets.close()
