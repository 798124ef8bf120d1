"""What happens to a chunk: one call into the core, the time noted, the generator woken if something is up."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from .._core import Splice
from ..effects import Emit
from ..types import Event
from .events import EventMaker
from .guard import DEGRADED, HELD, MUST_END, NO_PROGRESS, SEAM_REFUSED, WHOLE, Guard
from .timers import Phase, Timers

if TYPE_CHECKING:
    from ..clock import Clock

_DECISIVE = MUST_END | WHOLE | SEAM_REFUSED


def _nothing() -> None:
    return None


class Intake:
    """The receiving side of one run, over all its attempts.

    `attention` is set when the generator must run; `wake` is called then, and `rearm` when a timer is needed
    sooner than the one that is set. `on_content` hears of the first content of an attempt that
    `awaits_content`.
    """

    __slots__ = (
        "_now",
        "attention",
        "awaits_content",
        "events",
        "guard",
        "on_content",
        "rearm",
        "timers",
        "typed",
        "wake",
    )

    def __init__(self, guard: Guard, timers: Timers, clock: Clock, *, typed: bool) -> None:
        self.guard = guard
        self.timers = timers
        self.typed = typed
        self.events = EventMaker()
        self.attention = False
        self.awaits_content = False
        self.wake: Callable[[], None] = _nothing
        self.rearm: Callable[[], None] = _nothing
        self.on_content: Callable[[float], None] = _ignore
        self._now = clock.monotonic

    def receive(self, chunk: bytes) -> bytes:
        """Take a chunk in; returns what may go to the reader now."""
        splice = self.guard.splice
        if splice is None:
            self.timers.progress_at = self._now()
            freed = self.guard.take_freed()
            if not self.guard.verbatim:
                return b""
            return freed + chunk if freed else chunk
        try:
            out = splice.feed(chunk)
            flags = splice.flags
        except BaseException as error:
            return self._failed(chunk, error)
        if out is not chunk:
            self.guard.track(chunk, out)
        try:
            if flags or self.awaits_content:
                self._look(splice, flags, something_left=bool(out))
            else:
                self.timers.progress_at = self._now()
                self.timers.hold = None
        except BaseException as error:
            return out + self._failed(b"", error)
        return out

    def take_events(self) -> list[Event]:
        """The typed events since the last call."""
        return self.events.make(self.guard.ask(Splice.events, []))

    def keepalive(self, now: float) -> Emit | None:
        """The dialect's keep-alive for a byte reader who has got nothing for long."""
        self.timers.emitted(now)
        data = b"" if self.typed else self.guard.ask(Splice.keepalive, b"")
        return Emit(data) if data else None

    def output(self, data: bytes) -> Emit | None:
        """What leaves for the reader, None if nothing does: `data` for a byte reader, else the events."""
        data += self.guard.take_freed()
        if self.typed:
            events = self.take_events()
            return Emit(events=tuple(events)) if events else None
        if not data:
            return None
        self.timers.emitted(self._now())
        return Emit(data)

    @property
    def flags(self) -> int:
        return self.guard.ask(lambda splice: splice.flags, DEGRADED)

    @property
    def phase(self) -> Phase:
        """What the current attempt is busy with; decides which limit rules."""
        return self.guard.ask(lambda splice: splice.phase, "text")

    def settle_hold(self, now: float) -> None:
        """After a hold was ended by its timer: note what is held now."""
        waiting = self.guard.ask(lambda splice: splice.waiting if splice.flags & HELD else None, None)
        self.timers.expired(waiting, now)

    def _look(self, splice: Splice, flags: int, *, something_left: bool) -> None:
        now, timers = self._now(), self.timers
        if not flags & NO_PROGRESS:
            timers.progress_at = now
        if something_left:
            timers.emitted(now)
            timers.reconnecting = False
        hold = splice.waiting if flags & HELD else None
        if timers.holding(hold, now, something_left=something_left):
            self.rearm()
        if self.awaits_content and splice.phase != "start":
            self.awaits_content = False
            self.on_content(now)
        if flags & _DECISIVE or (flags & DEGRADED and self.guard.degraded is None):
            self.attention = True
            self.wake()

    def _failed(self, chunk: bytes, error: BaseException) -> bytes:
        """The core failed: from here on bytes pass as they are."""
        out = self.guard.rescue(chunk, error)
        self.timers.hold = None
        self.attention = True
        self.wake()
        return out


def _ignore(_now: float) -> None:
    return None
