"""Outcomes of every run inside a `with` block, under any SDK: the runs are started somewhere below, in any
task.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from .types import Outcome

Collector = Callable[[Outcome], None]

_collectors: ContextVar[tuple[Collector, ...]] = ContextVar("seamstream_collectors", default=())


@contextmanager
def capture() -> Iterator[list[Outcome]]:
    """Collect the outcomes of runs that begin inside. A run that ends later than the block still adds its
    own.
    """
    outcomes: list[Outcome] = []
    token = _collectors.set((*_collectors.get(), outcomes.append))
    try:
        yield outcomes
    finally:
        _collectors.reset(token)


def collectors() -> tuple[Collector, ...]:
    """Who wants to hear of runs that begin here."""
    return _collectors.get()
