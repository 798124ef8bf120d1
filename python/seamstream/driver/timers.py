"""When a run must act although nothing arrives: stalls, holds, keep-alives, warnings, checkpoints.

Pure arithmetic on times that the caller passes in. A chunk costs one assignment (`progress_at`); a timer that
expires asks `due` and is set again for `wake_at`. While the reader is paused all of it stands still.
"""

from __future__ import annotations

import enum
import math
from typing import Final, Literal

from ..recovery.policy import RecoveryPolicy

Phase = Literal["start", "text", "quiet"]
Hold = Literal["preamble", "seam", "tool", "end", "content"]

NEVER: Final = math.inf


class Due(enum.Enum):
    """What a timer asks for."""

    STALL = "stall"
    GIVE_UP = "give up"
    HOLD = "hold"
    KEEPALIVE = "keepalive"
    WARN = "warn"
    CHECKPOINT = "checkpoint"


class Timers:
    """The times of one run.

    `reconnecting` is set from a cut until something of the next attempt has left, `give_up_at` until its
    content comes.
    """

    __slots__ = (
        "_checkpoint_every_s",
        "_hold_limits",
        "_keepalive_s",
        "_limits",
        "_patience_s",
        "_shortest_s",
        "_warn_s",
        "checkpoint_at",
        "emitted_at",
        "give_up_at",
        "held_since",
        "hold",
        "paused_at",
        "progress_at",
        "reconnecting",
        "warned_of",
    )

    def __init__(self, policy: RecoveryPolicy, now: float, *, checkpoints: bool, keepalives: bool) -> None:
        self._limits: dict[Phase, float] = {
            "start": policy.first_content_s,
            "text": policy.idle_s,
            "quiet": policy.quiet_s,
        }
        self._patience_s = NEVER
        self._shortest_s = min(self._limits.values())
        self._hold_limits: dict[Hold, float] = {
            "preamble": policy.hold_preamble_s,
            "seam": policy.hold_seam_s,
            "tool": policy.hold_tools_s,
            "end": policy.terminal_grace_s,
            "content": NEVER,
        }
        self._keepalive_s = policy.keepalive_s if keepalives else NEVER
        self._warn_s = policy.stall_warn_s
        self._checkpoint_every_s = policy.checkpoint_every_s if checkpoints else NEVER
        self.hold: Hold | None = None
        self.held_since = self.progress_at = self.emitted_at = now
        self.checkpoint_at = now
        self.paused_at: float | None = None
        self.give_up_at = NEVER
        self.reconnecting = False
        self.warned_of = NEVER

    def stop(self) -> None:
        """Nothing will ever be due again: recovery is off for this run."""
        self.paused_at = -NEVER

    def restart(self, now: float, *, patience_s: float = NEVER) -> None:
        """A new attempt begins, whose silence is borne no longer than that, whatever it is busy with."""
        self.progress_at = now
        self._patience_s = patience_s
        self.hold = None

    def holding(self, kind: Hold | None, now: float, *, something_left: bool) -> bool:
        """Note why something is held; says whether a hold began, which may be due before the armed timer."""
        if kind is None:
            self.hold = None
            return False
        if kind == self.hold and not something_left:
            return False
        self.hold, self.held_since = kind, now
        return True

    def expired(self, kind: Hold | None, now: float) -> None:
        """The hold was ended by its timer; `kind` is what is held now."""
        self.hold, self.held_since = kind, now

    def emitted(self, now: float) -> None:
        """Something has left for the reader."""
        self.emitted_at = now

    def warned(self) -> None:
        """The warning about this silence was given."""
        self.warned_of = self.progress_at

    def pause(self, now: float) -> None:
        """The reader does not want more: nothing may become due."""
        if self.paused_at is None:
            self.paused_at = now

    def resume(self, now: float) -> None:
        """The reader reads again: the time in between did not pass."""
        if self.paused_at is None or self.paused_at == -NEVER:
            return
        gone = now - self.paused_at
        self.paused_at = None
        self.progress_at += gone
        self.held_since += gone
        self.emitted_at += gone
        self.give_up_at += gone

    @property
    def undisturbed(self) -> bool:
        """Until something arrives, nothing that changes what the reader gets can become due but the attempt's
        end.
        """
        return self.hold is None and not self.reconnecting

    def due(self, now: float, phase: Phase) -> Due | None:
        """The most pressing thing that is due, None if nothing is."""
        if self.paused_at is not None:
            return None
        if now >= self._hold_at():
            return Due.HOLD
        if now >= self.give_up_at:
            return Due.GIVE_UP
        if now >= self.progress_at + min(self._limits[phase], self._patience_s):
            return Due.STALL
        if now >= self.keepalive_at():
            return Due.KEEPALIVE
        if now >= self._checkpoint_at():
            return Due.CHECKPOINT
        if now >= self._warn_at():
            return Due.WARN
        return None

    def wake_at(self, now: float, phase: Phase) -> float:
        """When to ask `due` again. At the latest in the shortest limit: a phase changes without a call."""
        if self.paused_at is not None:
            return NEVER
        limit_s = min(self._limits[phase], self._patience_s)
        stall_at = min(self.progress_at + limit_s, now + self._shortest_s)
        own = min(self._hold_at(), self.keepalive_at(), self._warn_at(), self._checkpoint_at())
        return min(own, stall_at, self.give_up_at)

    def _hold_at(self) -> float:
        return NEVER if self.hold is None else self.held_since + self._hold_limits[self.hold]

    def keepalive_at(self) -> float:
        """When the reader should hear that we are still there."""
        held_back = self.reconnecting or self.hold is not None
        return self.emitted_at + self._keepalive_s if held_back else NEVER

    def _warn_at(self) -> float:
        return NEVER if self.warned_of == self.progress_at else self.progress_at + self._warn_s

    def checkpoint_due(self, now: float) -> bool:
        """For a reader who pulls, and so may never wait long enough for a timer."""
        return now >= self._checkpoint_at()

    def _checkpoint_at(self) -> float:
        """Nothing new, nothing to store."""
        if self.progress_at <= self.checkpoint_at:
            return NEVER
        return self.checkpoint_at + self._checkpoint_every_s
