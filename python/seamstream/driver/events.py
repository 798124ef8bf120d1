"""The core's typed events as the package's records, numbered and with their attempt."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from ..types import (
    AttemptStart,
    Event,
    Finish,
    ReasoningDelta,
    RefusalDelta,
    Seam,
    StreamReset,
    TextDelta,
    ToolCallCancel,
    ToolCallDelta,
    ToolCallReady,
    ToolCallStart,
    Usage,
    UsageUpdate,
)

_CLASSES: Final[dict[str, type[Event]]] = {
    "text": TextDelta,
    "reasoning": ReasoningDelta,
    "refusal": RefusalDelta,
    "tool_start": ToolCallStart,
    "tool_delta": ToolCallDelta,
    "tool_ready": ToolCallReady,
    "tool_cancel": ToolCallCancel,
    "reset": StreamReset,
    "finish": Finish,
}


class EventMaker:
    """Makes one run's events. `usage` is asked for each UsageUpdate, `cut` and `models` are what the next
    Seam tells.
    """

    __slots__ = ("_started", "attempt", "cut", "models", "sequence", "usage")

    def __init__(self) -> None:
        self.attempt = 0
        self.sequence = 0
        self.usage: Callable[[], Usage] = Usage
        self.cut: tuple[str, str] = ("", "")
        self.models: tuple[str | None, str | None] = (None, None)
        self._started: list[Event] = []

    def start(self, attempt: int) -> None:
        """A new attempt's stream begins; its event comes first in the next `make`."""
        self.attempt = attempt
        self._started.append(AttemptStart(attempt, self._next()))

    def make(self, raw: Iterable[tuple[Any, ...]]) -> list[Event]:
        """The events in the order the core gave them."""
        made = [self._make(*event) for event in raw]
        if self._started:
            made[:0] = self._started
            self._started.clear()
        return made

    def _make(self, kind: str, *fields: Any) -> Event:
        made = _CLASSES.get(kind)
        if made is not None:
            return made(self.attempt, self._next(), *fields)
        if kind == "usage":
            return UsageUpdate(self.attempt, self._next(), self.usage())
        offset, join = fields
        return Seam(self.attempt, self._next(), offset, *self.cut, join, *self.models)

    def _next(self) -> int:
        self.sequence += 1
        return self.sequence
