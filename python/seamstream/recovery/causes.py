"""Why an attempt ended: from what a transport noticed, and from what a provider said inside its stream.

Transports translate their exceptions into a `BodyEnd` and nothing else, so that every transport's cut means
the same.
"""

from __future__ import annotations

import enum
from typing import Final

from ..types import (
    ConnectionReset,
    EarlyEof,
    GoAway,
    IdleStall,
    InBandError,
    InterruptCause,
    MalformedFrame,
    Provider5xxMidStream,
)
from .classify import classify_in_band
from .error_codes import STATUS_OF_CODE, STATUS_OF_KIND, normalise


class BodyEnd(enum.Enum):
    """How a response body came to its end, as far as the transport can tell."""

    CLEAN = "clean"
    """The transport's own end; whether the answer was complete only the dialect knows."""
    RESET = "reset"
    """RST, an HTTP/2 RST_STREAM, or any other loss of the connection."""
    SHORT = "short"
    """FIN before the announced length or the last chunk."""
    MALFORMED = "malformed"
    """The transfer coding cannot be read any further."""
    STALLED = "stalled"
    """A watchdog, ours or the transport's read timeout, gave up."""
    GOAWAY = "goaway"
    """HTTP/2 GOAWAY in the middle of the response."""


_CAUSES: Final[dict[BodyEnd, InterruptCause]] = {
    BodyEnd.CLEAN: EarlyEof(),
    BodyEnd.RESET: ConnectionReset(),
    BodyEnd.SHORT: ConnectionReset(),
    BodyEnd.MALFORMED: MalformedFrame(),
    BodyEnd.STALLED: IdleStall(),
    BodyEnd.GOAWAY: GoAway(),
}


def cause_of_end(end: BodyEnd) -> InterruptCause:
    """The cause of a cut that the transport noticed (before the dialect's proof of completeness)."""
    return _CAUSES[end]


def cause_of_error(error: InBandError) -> Provider5xxMidStream:
    """The cause of a cut that the provider announced, with its HTTP status or what its code stands for."""
    if error.status is not None and error.status >= 400:
        return Provider5xxMidStream(error.status)
    for code in (error.code, error.type):
        if code.isdecimal() and 400 <= int(code) <= 599:
            return Provider5xxMidStream(int(code))
        if (status := STATUS_OF_CODE.get(normalise(code))) is not None:
            return Provider5xxMidStream(status)
    return Provider5xxMidStream(STATUS_OF_KIND[classify_in_band(error).kind])
