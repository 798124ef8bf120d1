"""What it means that a request brought no stream."""

from __future__ import annotations

from ..effects import Opened, OpenFailed
from ..recovery.classify import classify_http, network_failure
from .parts import Parts
from .requests import Setback


def unopened(run: Parts, answer: Opened | OpenFailed) -> Setback:
    """There was no answer, or one that is no stream."""
    if isinstance(answer, OpenFailed):
        failure = network_failure(str(answer.error), retryable=answer.retryable)
        return Setback(
            *(None, failure, answer.error), disconnected=answer.disconnected, refused=answer.refused
        )
    failure = classify_http(answer.status, answer.headers, answer.body, now=run.clock.wall())
    return Setback(None, failure, opened=answer)
