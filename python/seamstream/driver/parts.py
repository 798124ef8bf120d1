"""The parts of one run, and the few things that every step does with them."""

from __future__ import annotations

from collections.abc import Generator

from ..effects import Effect, Put, Result
from ..recovery.budget import RunBudget
from ..types import Join, Snapshot, Turn
from .deciding import Decider
from .guard import Guard, make_splice
from .history import RunHistory
from .intake import Intake
from .requests import GiveUp, Setback
from .snapshots import sum_usage
from .spec import RunSpec, Services
from .streams import CoreFacts
from .targets import Targets
from .timers import NEVER, Timers

Steps = Generator[Effect, Result, None]


class Parts:
    """Everything that one run consists of. `snapshot` is the turn as the last cut left it, `cut` that cut."""

    def __init__(self, spec: RunSpec, services: Services) -> None:
        self.spec = spec
        self.clock = services.clock
        self.profiles = services.profiles
        self.unsigned = services.unsigned
        self.responses = services.responses
        policy, typed = spec.policy, spec.reader == "typed"
        profile = services.profiles.profile(host=spec.host, dialect=spec.dialect, model="")
        self.guard = Guard(
            lambda: make_splice(
                spec.dialect, spec.reader, policy, choices=spec.choices, done_is_end=profile.done_is_end
            ),
            verbatim=not typed,
        )
        self.timers = Timers(
            policy, self.clock.monotonic(), checkpoints=spec.checkpoint_key is not None, keepalives=not typed
        )
        self.intake = Intake(self.guard, self.timers, self.clock, typed=typed)
        self.intake.on_content = self._content_came
        self.intake.events.usage = lambda: sum_usage(self.history.streamed.bills(self.core_facts().usages))
        self.history = RunHistory(spec, services)
        self.targets = Targets(spec, services.budget)
        self.decider = Decider(spec, services, self.targets, RunBudget.from_policy(policy))
        self.snapshot: Snapshot | None = None
        self.cut: Setback | None = None
        self.turn: Turn | None = None

    def core_facts(self) -> CoreFacts:
        """Seams and usages as the core knows them."""
        return self.guard.ask(
            lambda splice: CoreFacts(tuple(splice.seams()), tuple(splice.usages())), CoreFacts()
        )

    def give(self, data: bytes) -> Steps:
        """Let `data`, or the typed events that have come up, leave for the reader."""
        emit = self.intake.output(data)
        if emit is not None:
            yield emit

    def put_checkpoint(self) -> Steps:
        """Store where the run stands."""
        self.timers.checkpoint_at = self.clock.monotonic()
        yield Put()

    def note_content(self) -> None:
        """Remember where the turn stands."""
        snapshot = self.guard.snapshot()
        if snapshot is None:
            return
        self.snapshot = snapshot
        self.history.model = snapshot.model
        self.history.count_deltas(snapshot.content_deltas)
        self.history.note_text(len(snapshot.text))

    def note_response(self) -> None:
        """Remember under which id the provider has the answer, where that is not the one its reader knows."""
        snapshot = self.snapshot
        if self.spec.dialect != "openai-responses" or snapshot is None or snapshot.resume_point is None:
            return
        joined = any(seam.join != Join.NATIVE.value for seam in self.history.seams(self.core_facts()))
        self.responses.remember(snapshot.response_id, None if joined else snapshot.resume_point.response_id)

    def turn_so_far(self) -> Turn:
        """The turn as it stands."""
        degraded = self.guard.degraded
        return self.history.turn_so_far(self.guard.snapshot() or self.snapshot, self.core_facts(), degraded)

    def record_end(self, step: GiveUp) -> Turn:
        """No further attempt: close the books."""
        self.turn = self.history.gave_up(
            self.snapshot, self.core_facts(), degraded=self.guard.degraded, code=step.code, why=step.why
        )
        return self.turn

    def record_leaving(self) -> None:
        """The reader left, or ended the run."""
        if not self.history.over:
            degraded = self.guard.degraded
            self.turn = self.history.left(self.guard.snapshot(), self.core_facts(), degraded=degraded)

    def _content_came(self, now: float) -> None:
        budget = self.decider.budget
        self.history.gap_s = budget.recovery_s(now) - budget.spent_s
        budget.content(now)
        self.timers.give_up_at = NEVER
        self.targets.content_came(now)
