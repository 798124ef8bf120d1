"""A run as a checkpoint: all that another process needs to go on with it, and no credentials."""

from __future__ import annotations

from ..recovery.digests import digest
from ..stores.checkpoints import StreamCheckpoint
from .parts import Parts


def make_checkpoint(run: Parts) -> StreamCheckpoint | None:
    """Where the run stands now; None while there is nothing to keep."""
    spec, history = run.spec, run.history
    snapshot = run.guard.snapshot() or run.snapshot
    if spec.checkpoint_key is None or snapshot is None:
        return None
    return StreamCheckpoint(
        key=spec.checkpoint_key,
        run_id=spec.run_id,
        dialect=spec.dialect,
        attempt=history.attempt,
        snapshot=snapshot,
        epoch=spec.epoch,
        restarts=history.restarts,
        request_digest=digest(spec.body or b""),
        model=snapshot.model,
        attempts=tuple(history.attempts),
        seams=history.seams(run.core_facts()),
        budget=run.decider.budget.to_dict(run.clock.monotonic()),
        replayable=spec.replayable,
        base_request=spec.body if spec.keeps_request else None,
    )
