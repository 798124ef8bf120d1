"""What can go wrong with one reply, as data. `FaultServer` does it on a real socket.

A fault says how much of the body is sent, how the reply ends then and, where it matters, how it is framed.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Framing = Literal["chunked", "content-length", "close"]


class Ending(enum.Enum):
    """What happens behind the last body byte that is sent."""

    COMPLETE = "complete"
    """The body ends as its framing says; the connection may be used again."""
    CLEAN_END = "clean_end"
    """The body ends as its framing says, and then the connection is closed."""
    FIN = "fin"
    """The connection is closed, and the framing shows that something is missing (if it can show it)."""
    RESET = "reset"
    """The connection is reset: the reader gets ECONNRESET."""
    BAD_CHUNK_SIZE = "bad_chunk_size"
    """A chunk size that is no number; the connection stays open."""
    STALL = "stall"
    """Nothing more comes; the connection stays open until the client leaves."""
    STALL_WITH_PINGS = "stall_with_pings"
    """Only the dialect's keep-alives come, until the client leaves."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One reply's fate. Use the constructors below; without a place to cut, the whole body is sent first."""

    ending: Ending
    after_bytes: int | None = None
    after_events: int | None = None
    after_text: bytes | None = None
    """Cut right behind the first occurrence of these bytes in the body."""
    framing: Framing | None = None
    before_head: bool = False
    """It happens before any byte of the response."""
    torn_chunk: bool = False
    """The last chunk announces one byte more than is sent."""
    ping_every_s: float = 0.1
    error_status: int | None = None
    """An error event for this HTTP status follows the last body byte."""
    then_done: bool = False
    """`[DONE]` follows the error event."""
    http_status: int | None = None
    """The reply is an HTTP error in the dialect's form."""
    unstreamed: bool = False
    """The reply is the whole JSON body, although a stream was asked for."""
    body: bytes | None = None
    """The reply's body, in place of the model's."""
    headers: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def none(cls) -> Fault:
        """A healthy reply."""
        return cls(Ending.COMPLETE)

    @classmethod
    def reset(cls, **where: Any) -> Fault:
        """TCP RST in the middle of the body."""
        return cls(Ending.RESET, **where)

    @classmethod
    def fin(cls, **where: Any) -> Fault:
        """TCP FIN without the end that the framing promised."""
        return cls(Ending.FIN, **where)

    @classmethod
    def clean_end(cls, **where: Any) -> Fault:
        """A proper end of a chunked body, too early, and then FIN: nothing in HTTP shows the cut."""
        return cls(Ending.CLEAN_END, **where)

    @classmethod
    def short_length(cls, ending: Ending = Ending.FIN, **where: Any) -> Fault:
        """`Content-Length` announces the whole body, and less comes."""
        return cls(ending, framing="content-length", **where)

    @classmethod
    def close_delimited(cls, ending: Ending = Ending.FIN, **where: Any) -> Fault:
        """Neither a length nor chunks: the end of the connection is the end of the body."""
        return cls(ending, framing="close", **where)

    @classmethod
    def bad_chunk_size(cls, **where: Any) -> Fault:
        """A malformed chunk size in the middle of the body; the socket stays open."""
        return cls(Ending.BAD_CHUNK_SIZE, framing="chunked", **where)

    @classmethod
    def stall(cls, **where: Any) -> Fault:
        """The socket stays open and nothing comes."""
        return cls(Ending.STALL, **where)

    @classmethod
    def stall_with_pings(cls, every_s: float = 0.1, **where: Any) -> Fault:
        """The socket stays open and only keep-alives come."""
        return cls(Ending.STALL_WITH_PINGS, ping_every_s=every_s, **where)

    @classmethod
    def in_band_error(cls, status: int, **where: Any) -> Fault:
        """An error event inside the 200 stream, as the provider would send it for `status`."""
        return cls(Ending.COMPLETE, error_status=status, **where)

    @classmethod
    def error_then_done(cls, status: int = 500, **where: Any) -> Fault:
        """Chat: an error object inside the stream and `[DONE]` behind it, as vLLM, SGLang and TGI do."""
        return cls(Ending.COMPLETE, error_status=status, then_done=True, **where)

    @classmethod
    def html(cls) -> Fault:
        """An HTML page with status 200, as captive portals and load balancers send it."""
        page = b"<!doctype html><html><body><h1>Please sign in</h1></body></html>"
        return cls(Ending.COMPLETE, body=page, headers={"content-type": "text/html; charset=utf-8"})

    @classmethod
    def json_body(cls) -> Fault:
        """The whole answer as one JSON body, although a stream was asked for."""
        return cls(Ending.COMPLETE, unstreamed=True)

    @classmethod
    def http_error(cls, status: int, headers: Mapping[str, str] | None = None) -> Fault:
        """An HTTP error before any stream; for `headers` see `retry_headers`."""
        return cls(Ending.COMPLETE, http_status=status, headers=headers or {})

    @classmethod
    def no_response(cls, ending: Ending = Ending.FIN) -> Fault:
        """The connection ends, or stalls, before any byte of the response."""
        return cls(ending, before_head=True)

    def cut_at(self, events: list[bytes], body: bytes) -> int:
        """How many bytes of the body are sent."""
        if self.after_events is not None:
            return sum(map(len, events[: self.after_events]))
        if self.after_text is not None:
            return body.index(self.after_text) + len(self.after_text)
        return len(body) if self.after_bytes is None else min(self.after_bytes, len(body))
