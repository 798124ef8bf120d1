"""Where a tapped response stands."""

from __future__ import annotations

import enum


class TapState(enum.Enum):
    """Who feeds the reader, and how that ended."""

    LIVE = "live"
    """Attempt 1 feeds the reader."""
    PUMPING = "pumping"
    """The pump feeds the reader."""
    ENDING = "ending"
    """The answer is whole and the reader has it; its end waits a moment for the body's, to keep the
    connection.
    """
    ENDED = "ended"
    """The reader has got its end, or its exception."""
    LEFT = "left"
    """The reader has left before the end."""
