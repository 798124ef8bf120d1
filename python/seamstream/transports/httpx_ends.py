"""What an exception of httpx says about the end of a body or of a request. Decides nothing.

httpx puts its own exception around httpcore's, and that one has h2's event as its argument, so the chain of
causes is walked. Classes are told by their names: nothing of the optional packages is imported here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal

from ..recovery.causes import BodyEnd

# RFC 9113, section 7.
_CODES: Final = (
    *("NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT"),
    *("STREAM_CLOSED", "FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR"),
    *("CONNECT_ERROR", "ENHANCE_YOUR_CALM", "INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED"),
)
_HOPELESS: Final = frozenset({"UnsupportedProtocol", "LocalProtocolError", "SSLCertVerificationError"})
# h11's words for a body that ended too early; whatever else it complains about is a malformed one.
_SHORT: Final = ("peer closed connection", "Server disconnected")

# h2 refuses, and drops, frames that come in one read with a GOAWAY and behind it.
_CLOSED_BY_GOAWAY: Final = "in state ConnectionState.CLOSED"

Signal = Literal["GOAWAY", "RST_STREAM"]


@dataclass(frozen=True, slots=True)
class Http2End:
    """HTTP/2's own reason. Of some GOAWAYs httpcore keeps no more than what `detail` says."""

    signal: Signal
    code: int | None = None
    last_stream_id: int | None = None
    detail: str | None = None

    def __str__(self) -> str:
        parts: list[str] = [self.signal]
        if self.code is not None:
            parts.append(_CODES[self.code] if self.code < len(_CODES) else f"{self.code:#x}")
        if self.last_stream_id is not None:
            parts.append(f"last stream {self.last_stream_id}")
        if self.detail is not None:
            parts.append(self.detail)
        return f"HTTP/2: {', '.join(parts)}"


def http2_end(error: BaseException) -> Http2End | None:
    """What HTTP/2 said, if it was HTTP/2 that said something."""
    for link in _chain(error):
        if type(link).__name__ == "ConnectionNotAvailable":
            return Http2End("GOAWAY", detail="our request was not processed")
        event: Any = link.args[0] if link.args else None
        kind = type(event).__name__
        if kind == "ConnectionTerminated":
            return Http2End("GOAWAY", int(event.error_code), event.last_stream_id)
        if kind == "StreamReset":
            return Http2End("RST_STREAM", int(event.error_code))
        if _is_of_h2(type(link)) and _CLOSED_BY_GOAWAY in str(link):
            return Http2End("GOAWAY", detail="with more frames behind it")
    return None


def note_http2_end(error: BaseException) -> None:
    """Let the exception say what HTTP/2 said, which httpx's own words leave out."""
    told = http2_end(error)
    if told is not None and str(told) not in getattr(error, "__notes__", ()):
        error.add_note(str(told))


def end_of_body(error: BaseException) -> BodyEnd:
    """How the body ended."""
    told = http2_end(error)
    if told is not None:
        return BodyEnd.GOAWAY if told.signal == "GOAWAY" else BodyEnd.RESET
    names = {kind.__name__ for kind in type(error).__mro__}
    if "TimeoutException" in names or isinstance(error, TimeoutError):
        return BodyEnd.STALLED
    if "RemoteProtocolError" in names:
        return BodyEnd.SHORT if str(error).startswith(_SHORT) else BodyEnd.MALFORMED
    return BodyEnd.RESET


def is_failure_of_transport(error: BaseException) -> bool:
    """The request got no answer; anything else is a bug, and not to be hidden."""
    names = {kind.__name__ for kind in type(error).__mro__}
    return isinstance(error, OSError) or bool(names & {"TransportError", "ConnectionNotAvailable"})


def may_be_sent_again(error: BaseException) -> bool:
    """False where the same request must fail in the same way. What h2 complains about is its connection."""
    kinds = [kind for link in _chain(error) for kind in type(link).__mro__]
    if any(map(_is_of_h2, kinds)):
        return True
    return not any(kind.__name__ in _HOPELESS for kind in kinds)


def _is_of_h2(kind: type) -> bool:
    return kind.__module__.partition(".")[0] == "h2"


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The exception and what it was raised from."""
    link: BaseException | None = error
    seen: set[int] = set()
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        yield link
        link = link.__cause__ or link.__context__
