"""Just enough HTTP/1.1 framing for a proxy that must count body bytes and still pass the wire verbatim.

The proxy needs to know three things a byte pump does not: where a request ends (connections are kept alive),
where a response body begins, and which bytes on the wire are body and which are transfer coding. Anything
beyond that (headers, status, content) is none of its business.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

READ_BYTES = 65_536


@dataclass(frozen=True, slots=True)
class Head:
    """The start line and headers of one message. `wire` is what was received, the blank line included."""

    wire: bytes
    start_line: str
    headers: dict[str, str]

    @property
    def chunked(self) -> bool:
        return self.headers.get("transfer-encoding", "").lower() == "chunked"

    @property
    def content_length(self) -> int | None:
        value = self.headers.get("content-length")
        return None if value is None else int(value)


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a body: `payload` as the reader sees it, `wire` as it travelled (with chunk coding)."""

    wire: bytes
    payload: bytes


async def read_head(reader: asyncio.StreamReader) -> Head | None:
    """The next message's head; None when the peer closed instead of starting one."""
    try:
        wire = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as error:
        if error.partial:
            raise
        return None
    start_line, *lines = wire.decode("latin-1").rstrip("\r\n").split("\r\n")
    pairs = (line.partition(":") for line in lines)
    return Head(wire, start_line, {name.strip().lower(): value.strip() for name, _, value in pairs})


async def read_request_body(reader: asyncio.StreamReader, head: Head) -> AsyncIterator[Piece]:
    """A request without length and coding has no body (RFC 9112, 6.3)."""
    if head.chunked or head.content_length is not None:
        async for piece in _framed_body(reader, head):
            yield piece


async def read_response_body(reader: asyncio.StreamReader, head: Head) -> AsyncIterator[Piece]:
    """A response without length and coding lasts until the connection closes."""
    if head.chunked or head.content_length is not None:
        async for piece in _framed_body(reader, head):
            yield piece
        return
    while data := await reader.read(READ_BYTES):
        yield Piece(data, data)


async def _framed_body(reader: asyncio.StreamReader, head: Head) -> AsyncIterator[Piece]:
    if head.chunked:
        while (piece := await _read_chunk(reader)).payload:
            yield piece
        yield piece
        return
    left = head.content_length or 0
    while left:
        data = await reader.read(min(left, READ_BYTES))
        if not data:
            raise asyncio.IncompleteReadError(b"", left)
        left -= len(data)
        yield Piece(data, data)


async def _read_chunk(reader: asyncio.StreamReader) -> Piece:
    """One whole chunk; the last one has an empty payload (trailers are not used by anything we test)."""
    size_line = await reader.readuntil(b"\r\n")
    size = int(size_line.split(b";")[0], 16)
    data = await reader.readexactly(size + 2)
    return Piece(size_line + data, data[:size])


def encode_chunk(payload: bytes) -> bytes:
    """`payload` as one chunk of the chunked transfer coding."""
    return b"%x\r\n%b\r\n" % (len(payload), payload)
