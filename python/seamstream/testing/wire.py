"""Writes one HTTP/1.1 response byte by byte: every framing, and every way to end it.

aiohttp's own response writer cannot lie about lengths or leave a chunk torn, so this writes to the transport
itself; aiohttp still reads the requests and keeps the connections.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
import sys
import zlib
from collections.abc import Mapping

from aiohttp import web

from .faults import Framing


class WrittenResponse(web.StreamResponse):
    """Tells aiohttp that the response was written already, and whether the connection may be used again."""

    def __init__(self, *, reusable: bool) -> None:
        super().__init__()
        self._reusable = reusable

    @property
    def keep_alive(self) -> bool:
        return self._reusable

    async def prepare(self, _request: web.BaseRequest) -> None:
        return None

    async def write_eof(self, _data: bytes = b"") -> None:
        return None


class Wire:
    """The response side of one request's connection."""

    def __init__(self, request: web.BaseRequest, framing: Framing) -> None:
        transport = request.transport
        if transport is None:
            raise ConnectionResetError("the client has left")
        self._request = request
        self._transport = transport
        self._framing = framing

    async def head(self, status: int, headers: Mapping[str, str], *, length: int, reusable: bool) -> None:
        """The status line and the headers. `length` is what is announced, whatever comes."""
        lines = [f"HTTP/1.1 {status} Scripted", *(f"{name}: {value}" for name, value in headers.items())]
        if self._framing == "chunked":
            lines.append("transfer-encoding: chunked")
        elif self._framing == "content-length":
            lines.append(f"content-length: {length}")
        if not reusable or self._framing == "close":
            lines.append("connection: close")
        await self._write("\r\n".join([*lines, "", ""]).encode())

    async def piece(self, data: bytes, *, torn: bool = False) -> None:
        """Body bytes, as a chunk of their own where the body is chunked."""
        if not data:
            return
        if self._framing != "chunked":
            await self._write(data)
        elif torn:
            await self._write(b"%x\r\n%b" % (len(data) + 1, data))
        else:
            await self._write(b"%x\r\n%b\r\n" % (len(data), data))

    async def end(self) -> None:
        """The end of the body as the framing says it."""
        if self._framing == "chunked":
            await self._write(b"0\r\n\r\n")
        elif self._framing == "close":
            self.fin()

    async def bad_chunk_size(self) -> None:
        await self._write(b"this is no size\r\n")

    def fin(self) -> None:
        """Close the connection in order: everything written arrives, then FIN."""
        self._transport.close()

    async def reset(self) -> None:
        """Reset the connection once everything written has arrived at the peer's socket."""
        # The kernel tells nobody when its send queue is empty, so this has to ask.
        while self._transport.get_write_buffer_size() or _unacknowledged(self._socket):  # noqa: ASYNC110
            await asyncio.sleep(0.001)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._transport.abort()

    @property
    def _socket(self) -> socket.socket:
        found: socket.socket = self._transport.get_extra_info("socket")
        return found

    async def _write(self, data: bytes) -> None:
        if self._transport.is_closing():
            raise ConnectionResetError("the client has left")
        self._transport.write(data)
        await self._request.writer.drain()
        # Another turn of the loop, so that a reader in this process sees this write before the next.
        await asyncio.sleep(0)


class Compressor:
    """gzip with a flush at each piece, so that every event can be read as soon as it arrives."""

    def __init__(self) -> None:
        self._zlib = zlib.compressobj(wbits=31)

    def piece(self, data: bytes) -> bytes:
        return self._zlib.compress(data) + self._zlib.flush(zlib.Z_SYNC_FLUSH)

    def end(self) -> bytes:
        return self._zlib.flush()


def _unacknowledged(sock: socket.socket) -> int:
    """Bytes that the peer's kernel has not taken yet: a reset would throw them away."""
    if sys.platform == "linux":
        import fcntl
        import termios

        with contextlib.suppress(OSError):
            return int.from_bytes(fcntl.ioctl(sock.fileno(), termios.TIOCOUTQ, b"\0" * 4), sys.byteorder)
    return 0
