"""The states of a run, all arrows between them in one table, and the gates before a recovery.

Nothing else moves a run. A pair that the table lacks is a bug and raises; a run that has ended never moves
again.
"""

from __future__ import annotations

import enum
from typing import Final

from ..errors import IllegalTransitionError


class RunState(enum.Enum):
    """Where a run is."""

    CREATED = "created"
    REQUESTING = "requesting"
    STREAMING = "streaming"
    FAILED = "failed"
    FAILED_AFTER_START = "failed_after_start"
    RECOVERY_BUDGETED = "recovery_budgeted"
    SUCCEEDED = "succeeded"
    TERMINAL_FAILED = "terminal_failed"
    ABORTED = "aborted"

    @property
    def final(self) -> bool:
        return self in (RunState.SUCCEEDED, RunState.TERMINAL_FAILED, RunState.ABORTED)


class RunInput(enum.Enum):
    """What happens to a run."""

    REQUEST = "request"
    """An attempt's request is being sent."""
    STREAM = "stream"
    """A stream began to come back."""
    FAIL = "fail"
    """The attempt failed, or was cut."""
    SUCCEED = "succeed"
    """The turn is whole: its proof came, or R0, R2 or the length limit closed it, also where getting more of
    it has failed.
    """
    BUDGET = "budget"
    """All gates are open: another attempt is paid for."""
    GIVE_UP = "give_up"
    """No further attempt."""
    ABORT = "abort"
    """The run was ended on purpose."""


_S, _I = RunState, RunInput
TRANSITIONS: Final[dict[tuple[RunState, RunInput], RunState]] = {
    (_S.CREATED, _I.REQUEST): _S.REQUESTING,
    (_S.REQUESTING, _I.STREAM): _S.STREAMING,
    (_S.REQUESTING, _I.FAIL): _S.FAILED,
    (_S.STREAMING, _I.FAIL): _S.FAILED_AFTER_START,
    (_S.STREAMING, _I.SUCCEED): _S.SUCCEEDED,
    (_S.FAILED, _I.SUCCEED): _S.SUCCEEDED,
    (_S.FAILED_AFTER_START, _I.SUCCEED): _S.SUCCEEDED,
    (_S.FAILED, _I.BUDGET): _S.RECOVERY_BUDGETED,
    (_S.FAILED, _I.GIVE_UP): _S.TERMINAL_FAILED,
    (_S.FAILED_AFTER_START, _I.BUDGET): _S.RECOVERY_BUDGETED,
    (_S.FAILED_AFTER_START, _I.GIVE_UP): _S.TERMINAL_FAILED,
    (_S.RECOVERY_BUDGETED, _I.REQUEST): _S.REQUESTING,
    (_S.RECOVERY_BUDGETED, _I.GIVE_UP): _S.TERMINAL_FAILED,
    (_S.CREATED, _I.ABORT): _S.ABORTED,
    (_S.REQUESTING, _I.ABORT): _S.ABORTED,
    (_S.STREAMING, _I.ABORT): _S.ABORTED,
    (_S.FAILED, _I.ABORT): _S.ABORTED,
    (_S.FAILED_AFTER_START, _I.ABORT): _S.ABORTED,
    (_S.RECOVERY_BUDGETED, _I.ABORT): _S.ABORTED,
}


class RunMachine:
    """One run's state; it changes only by `apply`."""

    __slots__ = ("_state",)

    def __init__(self, state: RunState = RunState.CREATED) -> None:
        self._state = state

    @property
    def state(self) -> RunState:
        return self._state

    def apply(self, event: RunInput) -> RunState:
        """Take the arrow of `event`; raise when there is none."""
        target = TRANSITIONS.get((self._state, event))
        if target is None:
            raise IllegalTransitionError(f"a run that is {self._state.value} cannot take {event.value!r}")
        self._state = target
        return target


def closed_gate(*, budget_left: bool, recoverable: bool, side_effect_committed: bool) -> str | None:
    """The first of the three gates before a recovery that is closed; None when the run may go on."""
    if side_effect_committed:
        return "this attempt has committed a side effect that must not be repeated"
    if not recoverable:
        return "the error allows no recovery"
    return None if budget_left else "no budget is left"
