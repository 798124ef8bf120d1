"""`audit()`: what can be proven about a task, and whether it is enough."""

from __future__ import annotations

import dataclasses

from ...stores.backend import Backend
from ..results import ResultStore
from .acceptance import accept
from .alarms import alarms_of
from .answers import answers_of
from .evidence import Evidence, gather
from .release import Release
from .report import Audit


async def audit(
    backend: Backend,
    tenant: str,
    task_id: str,
    *,
    now_s: float,
    release: Release | None = None,
    results: ResultStore | None = None,
    expected: str | None = None,
) -> Audit:
    """Audit one task; nothing is written. `now_s` is seconds since the epoch.

    `release` holds the facts from outside the store, without it rows that need them are unknown; `results` is
    where result references are read from; `expected` is the `evidence_ref` of an earlier envelope or audit,
    which the ledger must still contain: one that was written anew as a whole does not. StoreError when there
    is no such task, or it cannot be read.
    """
    evidence = await gather(backend, tenant, task_id, now_s=now_s, release=release, results=results)
    return judge(dataclasses.replace(evidence, expected=expected))


def judge(evidence: Evidence) -> Audit:
    """The audit of evidence that was gathered already."""
    task = evidence.task
    return Audit(
        *(evidence.tenant, task.task_id, task.state, evidence.reference, evidence.now_s),
        answers=answers_of(evidence),
        rows=accept(evidence),
        alarms=alarms_of(evidence),
    )
