"""Fail open: whatever goes wrong inside the core, a healthy stream still reaches its reader verbatim.

Every call into the core passes through here. The first exception or panic turns interpreting off for good:
what was held leaves, later chunks pass as they are, and `degraded` says why.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

from .._core import Splice
from ..recovery.policy import RecoveryPolicy
from ..types import Reader, Snapshot
from .snapshots import read_snapshot

T = TypeVar("T")

# Bits of `Splice.flags`.
HELD: Final = 1
NO_PROGRESS: Final = 2
MUST_END: Final = 4
WHOLE: Final = 8
DEGRADED: Final = 16
SEAM_REFUSED: Final = 32

_PANIC: Final = "PanicException"


def make_splice(
    dialect: Any, reader: Reader, policy: RecoveryPolicy, *, choices: int, done_is_end: bool
) -> Splice:
    """The core's state machine for one run under that policy."""
    return Splice(
        dialect,
        reader=reader,
        hold_tools=policy.hold_tools_s > 0 and policy.hold_tools_bytes > 0,
        hold_tools_bytes=policy.hold_tools_bytes,
        max_event_bytes=policy.max_event_bytes,
        max_turn_bytes=policy.max_turn_bytes,
        max_json_depth=policy.max_json_depth,
        max_parts=policy.max_parts,
        choices=choices,
        done_is_end=done_is_end,
    )


class Guard:
    """A `Splice` that never raises. `splice` is None once it has failed.

    `unsent` shadows what the core holds while what leaves is what came in, that is during the first attempt:
    a core that has just failed is no witness. Later attempts cannot go on without the core, so there it is
    not kept, nor for a typed reader, who gets no bytes.
    """

    __slots__ = ("degraded", "splice", "unsent", "verbatim")

    def __init__(self, make: Callable[[], Splice], *, verbatim: bool) -> None:
        self.splice: Splice | None = None
        self.degraded: str | None = None
        self.verbatim = verbatim
        """What leaves is what came in, so that the core can be done without."""
        self.unsent: bytearray | None = bytearray() if verbatim else None
        try:
            self.splice = make()
        except BaseException as error:
            self._fail(error)

    def track(self, chunk: bytes, out: bytes) -> None:
        """Note that of a chunk (and what was held before it) only `out` has left."""
        if self.unsent is not None:
            self.unsent += chunk
            self._sent(out)

    def rescue(self, chunk: bytes, error: BaseException) -> bytes:
        """The core failed on `chunk`: everything that had not left, and the chunk."""
        freed = self._fail(error)
        return freed + chunk if self.verbatim else b""

    def act(self, action: Callable[[Splice], bytes], *, ends_attempt: bool = False) -> bytes:
        """Let the splice do something by which bytes may leave. Ending an attempt ends the shadow."""
        if self.splice is None:
            return b""
        try:
            out = action(self.splice)
        except BaseException as error:
            return self._fail(error)
        if ends_attempt:
            self.verbatim, self.unsent = False, None
        else:
            self._sent(out)
        return out

    def ask(self, question: Callable[[Splice], T], otherwise: T) -> T:
        """Read something of the splice; `otherwise` when it cannot tell (see `take_freed`)."""
        if self.splice is None:
            return otherwise
        try:
            return question(self.splice)
        except BaseException as error:
            freed = self._fail(error)
            self.unsent = bytearray(freed)
            return otherwise

    def take_freed(self) -> bytes:
        """Bytes that a failed question has set free."""
        if self.splice is not None or not self.unsent:
            return b""
        freed, self.unsent = bytes(self.unsent), None
        return freed

    def snapshot(self) -> Snapshot | None:
        """The turn so far; None when the core cannot tell any more."""
        return self.ask(lambda splice: read_snapshot(splice.snapshot()), None)

    def _sent(self, out: bytes) -> None:
        unsent = self.unsent
        if not out or unsent is None:
            return
        at = 0 if unsent.startswith(out) else unsent.find(out)  # pings and comments overtake what is held
        if at < 0:
            self.unsent = None
        else:
            del unsent[at : at + len(out)]

    def _fail(self, error: BaseException) -> bytes:
        if not isinstance(error, Exception) and type(error).__name__ != _PANIC:
            raise error
        self.degraded = self.degraded or f"the core failed: {type(error).__name__}"
        self.splice = None
        if self.unsent is not None:
            freed, self.unsent = bytes(self.unsent), None
            return freed
        return b""
