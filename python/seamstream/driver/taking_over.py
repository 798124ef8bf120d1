"""Going on with a run that another process held: its checkpoint is a cut like any other."""

from __future__ import annotations

from collections.abc import Generator

from .._core import Splice
from ..effects import Effect, Result
from ..recovery.budget import RunBudget
from ..stores.checkpoints import StreamCheckpoint
from ..types import ResumedFromCheckpoint
from .parts import Parts
from .replaying import replay
from .requests import Setback


def take_over(run: Parts, checkpoint: StreamCheckpoint) -> Generator[Effect, Result, Setback]:
    """Bring a fresh run to where the checkpoint stands; its reader gets the answer from the start."""
    run.history.take_over(checkpoint)
    run.intake.events.start(checkpoint.attempt)
    run.intake.awaits_content = True
    data = run.intake.receive(replay(run.spec.dialect, checkpoint.snapshot))
    run.guard.ask(Splice.was_replayed, None)
    run.decider.budget = RunBudget.from_dict(checkpoint.budget)  # what was replayed is no progress
    run.intake.attention = False
    yield from run.give(data)
    items = checkpoint.snapshot.server_items
    refusal = "a server-side tool item was under way" if items != "none" else None
    return Setback(ResumedFromCheckpoint(), refusal=refusal)
