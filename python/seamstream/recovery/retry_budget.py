"""What all runs of a process may do to one target, so that recovery never makes an outage worse.

Recoveries in flight stay under a tenth of the open streams; when many streams break together, their
reconnects are spread; and a target whose streams seem to break all the time, though nothing visibly broke, is
only observed, because then it is more likely that we misread it. Times are the caller's monotonic clock;
nothing here runs per chunk.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from dataclasses import dataclass
from typing import Final

from .breaker import Breaker

OUTAGE_WINDOW_S: Final = 1.0
OUTAGE_CUTS: Final = 20
OUTAGE_SHARE: Final = 0.05
SPREAD_S: Final = 5.0

HEALTH_WINDOW_S: Final = 300.0
HEALTH_STREAMS: Final = 200
HEALTH_SHARE: Final = 0.02

# How long, and how often, a run asks for a slot before it fails honestly.
SLOT_WAIT_S: Final = 15.0
SLOT_POLL_S: Final = 0.25

MAX_IDLE_TARGETS: Final = 1024


@dataclass(slots=True)
class _Second:
    """What happened to a target within one second."""

    start: int
    opened: int = 0
    inferred_cuts: int = 0


class TargetBudget:
    """One target's account. Safe to use from several threads."""

    def __init__(self, *, ratio: float, min_concurrency: int) -> None:
        self._ratio = ratio
        self._min_concurrency = min_concurrency
        self._lock = threading.Lock()
        self._cuts: deque[float] = deque(maxlen=4096)
        self._history: deque[_Second] = deque()
        self.breaker = Breaker()
        self.open_streams = 0
        self.recovering = 0
        self.guests = 0

    def opened(self, now: float) -> None:
        """A run began. It counts as open until `closed`, over all its attempts."""
        with self._lock:
            self.open_streams += 1
            self._second(now).opened += 1

    def closed(self) -> None:
        """A run is over."""
        with self._lock:
            self.open_streams -= 1

    def cut(self, now: float, *, inferred: bool) -> None:
        """An attempt was cut. `inferred`: nothing broke visibly."""
        with self._lock:
            self._cuts.append(now)
            if inferred:
                self._second(now).inferred_cuts += 1

    def try_acquire(self, *, guest: bool = False) -> bool:
        """Take a slot for one recovery; give it back when its stream flows or has failed. A `guest` comes
        from another target and keeps its slot as long as it stays; guests have slots of their own, because
        they are load that comes on top, where a stream that was cut here only comes back.
        """
        with self._lock:
            if not self._has_room(guest):
                return False
            if guest:
                self.guests += 1
            else:
                self.recovering += 1
            return True

    def has_room(self, *, guest: bool = False) -> bool:
        """Would a slot be free now?"""
        with self._lock:
            return self._has_room(guest)

    def release(self, *, guest: bool = False) -> None:
        """Give a slot back."""
        with self._lock:
            if guest:
                self.guests -= 1
            else:
                self.recovering -= 1

    def spread_s(self, now: float, random: float) -> float:
        """The extra wait of a first reconnect: 0 unless many streams were cut within the last second."""
        with self._lock:
            recent = sum(1 for at in self._cuts if at > now - OUTAGE_WINDOW_S)
            outage = recent >= OUTAGE_CUTS and recent >= OUTAGE_SHARE * self.open_streams
            return random * SPREAD_S if outage else 0.0

    def distrust(self, now: float) -> str | None:
        """Why this target is only observed now; None when it is trusted."""
        with self._lock:
            self._forget(now)
            opened = sum(second.opened for second in self._history)
            cuts = sum(second.inferred_cuts for second in self._history)
        if opened < HEALTH_STREAMS or cuts <= HEALTH_SHARE * opened:
            return None
        return f"{cuts} of {opened} streams in {HEALTH_WINDOW_S:g} s seemed cut though nothing broke"

    @property
    def idle(self) -> bool:
        return self.open_streams <= 0 and self.recovering <= 0 and self.guests <= 0

    def _has_room(self, guest: bool) -> bool:
        allowed = max(self._min_concurrency, int(self._ratio * self.open_streams))
        return (self.guests if guest else self.recovering) < allowed

    def _second(self, now: float) -> _Second:
        self._forget(now)
        if not self._history or self._history[-1].start != int(now):
            self._history.append(_Second(int(now)))
        return self._history[-1]

    def _forget(self, now: float) -> None:
        while self._history and self._history[0].start < now - HEALTH_WINDOW_S:
            self._history.popleft()


class RetryBudget:
    """The accounts of all targets (scheme, host and port) of this process."""

    def __init__(self, *, ratio: float = 0.10, min_concurrency: int = 3) -> None:
        self._ratio = ratio
        self._min_concurrency = min_concurrency
        self._lock = threading.Lock()
        self._targets: OrderedDict[str, TargetBudget] = OrderedDict()

    def target(self, name: str) -> TargetBudget:
        """The account of one target."""
        with self._lock:
            budget = self._targets.get(name)
            if budget is None:
                self._drop_idle()
                budget = TargetBudget(ratio=self._ratio, min_concurrency=self._min_concurrency)
                self._targets[name] = budget
            self._targets.move_to_end(name)
            return budget

    def __len__(self) -> int:
        """How many targets are known."""
        return len(self._targets)

    def _drop_idle(self) -> None:
        """Bound the table: the target unused for longest goes, unless streams of it are open."""
        if len(self._targets) < MAX_IDLE_TARGETS:
            return
        oldest = next((name for name, budget in self._targets.items() if budget.idle), None)
        if oldest is not None:
            del self._targets[oldest]
