"""The one port through which runs are observed: frozen records, one for each arrow a run takes, and notices.

A sink gets facts and ids, never keys, headers or the content of answers; the only record that holds content
is the success record's turn, which sinks that write somewhere leave out unless they were asked for it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from ..recovery.states import RunInput, RunState
from ..types import Outcome, Turn
from .provenance import Span

_LOG = logging.getLogger("seamstream")


@dataclass(frozen=True, slots=True)
class RunEvent:
    """One arrow of a run. `at_s` is wall-clock time; fields that an arrow has no fact for are empty.

    `cause`, `plan` and `strategy` belong to a cut (with mode "observe": what would have been done);
    `salvaged` names the plan that made a broken turn whole without a request. On arrows into a final state
    stand `outcome` and `gap_s`, the seconds from cuts to the next content summed over the run; on the one
    into `succeeded` also `turn` and `provenance`.
    """

    run_id: str
    attempt: int
    at_s: float
    state_from: RunState
    input: RunInput
    state_to: RunState
    target: str = ""
    dialect: str = ""
    model: str = ""
    mode: str = ""
    request_id: str | None = None
    request_digest: str = ""
    emitted_chars: int = 0
    cause: str | None = None
    plan: str | None = None
    strategy: str | None = None
    salvaged: str | None = None
    gap_s: float = 0.0
    error_code: str | None = None
    why: str | None = None
    outcome: Outcome | None = None
    turn: Turn | None = None
    provenance: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True)
class Notice:
    """Something worth knowing that moves no run, like a stall that is not yet a cut; `kind` is one word."""

    kind: str
    at_s: float
    target: str = ""
    run_id: str = ""
    detail: str = ""


Record = RunEvent | Notice


class Sink(Protocol):
    """Receives every record. Called from the streaming path: it must not block."""

    def record(self, record: Record) -> None: ...


class Sinks:
    """Several sinks as one that never raises: who watches a stream must not be able to break it."""

    def __init__(self, sinks: Iterable[Sink] = ()) -> None:
        self._sinks = tuple(sinks)
        self._complained: set[int] = set()

    def record(self, record: Record) -> None:
        for sink in self._sinks:
            try:
                sink.record(record)
            except Exception:
                self._complain(sink)

    def _complain(self, sink: Sink) -> None:
        if id(sink) not in self._complained:
            self._complained.add(id(sink))
            _LOG.exception("a sink of type %s failed; this is said once", type(sink).__name__)
