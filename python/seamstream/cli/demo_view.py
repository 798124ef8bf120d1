"""Shows a scene while it plays: the answer as it arrives, and a mark where something broke or was joined."""

from __future__ import annotations

import json

from seamstream.clock import Clock
from seamstream.observe import Record, RunEvent
from seamstream.testing import Call, Dialect, ReadTurn, read_turn
from seamstream.types import (
    Event,
    Finish,
    Outcome,
    Seam,
    StreamReset,
    TextDelta,
    ToolCallCancel,
    ToolCallStart,
    Turn,
)

from .screen import Screen


class AddedDelay:
    """What the reader waits for at cuts, from the last content before one to the first behind it."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last_content_s = clock.monotonic()
        self._cut = False
        self.total_s = 0.0

    def content(self) -> None:
        """The reader got something new, or its end."""
        now = self._clock.monotonic()
        if self._cut:
            self.total_s += now - self._last_content_s
            self._cut = False
        self._last_content_s = now

    def cut(self) -> None:
        self._cut = True


class Watcher:
    """A sink that keeps what a run reports; where the reader sees no seams, it also marks the cuts."""

    def __init__(self, screen: Screen, clock: Clock, *, marks: bool) -> None:
        self._screen = screen
        self._marks = marks
        self.delay = AddedDelay(clock)
        self.causes: list[str] = []
        self.plans: list[str] = []
        self.outcome: Outcome | None = None

    def record(self, record: Record) -> None:
        if not isinstance(record, RunEvent):
            return
        self.outcome = record.outcome or self.outcome
        if record.cause is not None:
            self._note_cut(record.cause, record.plan or "none")

    def _note_cut(self, cause: str, plan: str) -> None:
        self.delay.cut()
        self.causes.append(cause)
        self.plans.append(plan)
        if self._marks:
            self._screen.write(f" |{cause}, {plan}| ", "mark")


class ShownBytes:
    """Reads the bytes of a stream with the judge's own reader and shows the text that each chunk adds."""

    def __init__(self, screen: Screen, dialect: Dialect, delay: AddedDelay) -> None:
        self._screen = screen
        self._dialect = dialect
        self._delay = delay
        self._received = bytearray()
        self.turn = ReadTurn()

    def feed(self, data: bytes) -> None:
        self._received += data
        before, self.turn = self.turn, read_turn(self._dialect, bytes(self._received))
        if self.turn != before:
            self._delay.content()
        self._screen.write(self.turn.text[len(before.text) :])


class ShownEvents:
    """Shows typed events; they say themselves where a seam is and what was taken back."""

    def __init__(self, screen: Screen, delay: AddedDelay) -> None:
        self._screen = screen
        self._delay = delay
        self.finished = False

    def feed(self, event: Event) -> None:
        if isinstance(event, TextDelta | ToolCallStart | Finish):
            self._delay.content()
        if isinstance(event, TextDelta):
            self._screen.write(event.text)
        elif isinstance(event, Seam):
            self._screen.write(f" |{event.cause}, {event.plan}, {event.join}| ", "mark")
        elif isinstance(event, StreamReset | ToolCallCancel):
            self._screen.write(f" |{type(event).__name__}: {event.reason}| ", "mark")
        elif isinstance(event, Finish):
            self.finished = True

    def turn(self, turn: Turn) -> ReadTurn:
        """The run's turn in the judge's terms."""
        calls = [Call(call.name, json.loads(call.arguments), whole=True) for call in turn.tool_calls]
        return ReadTurn(turn.text, turn.refusal, turn.reasoning, calls, turn.stop_reason, self.finished)


def show_calls(screen: Screen, turn: ReadTurn) -> None:
    """The tool calls that the reader may execute."""
    for call in turn.calls:
        screen.line(f"  -> {call.name}({json.dumps(call.arguments)})", "dim")
