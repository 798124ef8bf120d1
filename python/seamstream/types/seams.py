"""What is done at a cut, and where two attempts meet."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Plan(enum.Enum):
    """What to do about a cut: R0 to R4."""

    COMPLETE = "R0"
    CONTINUE_TEXT = "R1"
    SYNTHESIZE_TOOL_USE = "R2"
    TRUNCATE_BEFORE_TOOL = "R3"
    WHOLE_RESTART = "R4"

    @property
    def needs_request(self) -> bool:
        return self not in (Plan.COMPLETE, Plan.SYNTHESIZE_TOOL_USE)


class Join(enum.Enum):
    """How sure we are of the place where two attempts meet, surest first."""

    NATIVE = "native"
    TOKEN_EXACT = "token_exact"
    PREFILL = "prefill"
    ANCHORED = "anchored"
    UNANCHORED = "unanchored"


@dataclass(frozen=True, slots=True)
class SeamRecord:
    """One seam of a turn. `offset` is the character of the text where attempt `attempt` takes over."""

    offset: int
    cause: str
    plan: str
    join: str
    attempt: int
    whitespace_guess: bool = False
    model_before: str | None = None
    model_after: str | None = None
