"""A TCP proxy that breaks chosen responses at a chosen byte, in front of a server that breaks nothing itself.

It stands between the client under test and a real server, so that the cut happens where it happens in life:
on the connection, in the middle of an answer that the server is still writing. What is not scripted passes
verbatim, and every exchange is kept, so that a test can ask the server again with the very bytes sent.
"""

from __future__ import annotations

import asyncio
import enum
import socket
import struct
from collections import deque
from dataclasses import dataclass
from types import TracebackType

from .http_wire import Head, Piece, encode_chunk, read_head, read_request_body, read_response_body

LINGER_ZERO = struct.pack("ii", 1, 0)


class Break(enum.Enum):
    """How a scripted response ends."""

    RESET = "reset"
    """RST: the connection is torn down (SO_LINGER 0)."""
    CLOSE = "close"
    """FIN at the cut, in the middle of a chunk if it falls there."""
    END = "end"
    """A properly ended body: the chunked coding is closed and nothing looks broken. Chunked bodies only."""


@dataclass(frozen=True, slots=True)
class Cut:
    """Break a response once `at_byte` bytes of its body (transfer coding not counted) were passed on."""

    at_byte: int
    how: Break = Break.RESET


@dataclass(slots=True)
class Exchange:
    """One request as the client sent it and as much of its response body as the client was given."""

    request_line: str
    request_body: bytes
    cut: Cut | None
    status_line: str = ""
    response_body: bytes = b""
    broken: bool = False
    """The cut was made (it is not when the body was shorter than the cut's place)."""


class _Broken(Exception):
    """The scripted break has been carried out."""


class CutProxy:
    """Forwards loopback connections to `upstream_port`; `script()` says which responses break, and where."""

    def __init__(self, upstream_port: int, upstream_host: str = "127.0.0.1") -> None:
        self._upstream = (upstream_host, upstream_port)
        self._cuts: deque[Cut | None] = deque()
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self.exchanges: list[Exchange] = []
        self.url = ""

    def script(self, *cuts: Cut | None) -> None:
        """The next requests get these cuts in their order of arrival (None: left alone), later ones none."""
        self._cuts = deque(cuts)
        self.exchanges = []

    async def __aenter__(self) -> CutProxy:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.url = "http://{}:{}".format(*self._server.sockets[0].getsockname())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._server is not None:
            self._server.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # A plain function, so that the task is ours to cancel: the one asyncio makes for a coroutine is not.
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        client = _Peer(reader, writer)
        try:
            while (request := await read_head(reader)) and await self._exchange(client, request):
                pass
        except asyncio.IncompleteReadError:
            client.close()
        except (_Broken, asyncio.CancelledError):
            pass
        except OSError:
            client.reset()
        finally:
            client.close()

    async def _exchange(self, client: _Peer, request: Head) -> bool:
        """One request and its response. False when the client's connection cannot carry another one.

        Each has an upstream connection of its own: servers exist that close theirs after a stream unasked,
        and a proxy that noticed it too late would add a failure that nobody scripted.
        """
        exchange = Exchange(request.start_line, b"", self._cuts.popleft() if self._cuts else None)
        self.exchanges.append(exchange)
        upstream = _Peer(*await asyncio.open_connection(*self._upstream))
        try:
            return await self._forward(client, upstream, request, exchange)
        finally:
            upstream.close()

    async def _forward(self, client: _Peer, upstream: _Peer, request: Head, exchange: Exchange) -> bool:
        await upstream.send(request.wire)
        async for piece in read_request_body(client.reader, request):
            exchange.request_body += piece.payload
            await upstream.send(piece.wire)
        response = await read_head(upstream.reader)
        if response is None:
            return False
        exchange.status_line = response.start_line
        await client.send(response.wire)
        await self._relay_body(client, upstream, response, exchange)
        return response.chunked or response.content_length is not None

    async def _relay_body(self, client: _Peer, upstream: _Peer, head: Head, exchange: Exchange) -> None:
        cut = exchange.cut
        if cut is not None and cut.at_byte == 0:
            exchange.broken = True
            await client.send_and_break(b"", head, cut)
        async for piece in read_response_body(upstream.reader, head):
            left = len(piece.payload) + 1 if cut is None else cut.at_byte - len(exchange.response_body)
            exchange.response_body += piece.payload[:left]
            if cut is not None and left <= len(piece.payload):
                exchange.broken = True
                await client.send_and_break(_shortened(piece, left, head, cut), head, cut)
            await client.send(piece.wire)


class _Peer:
    """One side of a proxied connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self._writer = writer
        # drain() then means "all of it is in the kernel"; a reset throws away what is left in our buffer.
        writer.transport.set_write_buffer_limits(high=0)

    async def send(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def send_and_break(self, data: bytes, head: Head, cut: Cut) -> None:
        if cut.how is Break.END:
            if not head.chunked:
                raise ValueError("only a chunked body can end early and look whole")
            data += encode_chunk(b"")
        await self.send(data)
        if cut.how is Break.RESET:
            self.reset()
        raise _Broken

    def reset(self) -> None:
        connection: socket.socket = self._writer.get_extra_info("socket")
        if connection.fileno() >= 0:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER_ZERO)
        self._writer.transport.abort()

    def close(self) -> None:
        self._writer.close()


def _shortened(piece: Piece, payload_bytes: int, head: Head, cut: Cut) -> bytes:
    """The wire form of a piece of which only the first `payload_bytes` are to arrive."""
    payload = piece.payload[:payload_bytes]
    if payload_bytes == len(piece.payload):
        return piece.wire
    if head.chunked and cut.how is Break.END:
        return encode_chunk(payload)
    framing_bytes = piece.wire.index(b"\r\n") + 2 if head.chunked else 0
    return piece.wire[:framing_bytes] + payload
