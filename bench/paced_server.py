"""A provider for an outage: it answers at a steady pace, counts what it serves at any moment, and can be
killed or lose connections. No more of HTTP than this needs, because a thousand answers share its event loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct

import orjson

from seamstream.testing import DeterministicModel

_HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
    b"transfer-encoding: chunked\r\nconnection: close\r\n\r\n"
)
_LINGER_NOT = struct.pack("ii", 1, 0)

LONG = "long"
"""A request of this user gets its answer more slowly."""
LONGER = 10


class PacedServer:
    """One target. Answers stop half-way, some sooner than others, until `gate` is set; an
    event leaves every `pace_s`.
    """

    def __init__(self, model: DeterministicModel, *, pace_s: float, gate: asyncio.Event) -> None:
        self._model = model
        self._pace_s = pace_s
        self._gate = gate
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._held = 0
        self.streams: set[asyncio.StreamWriter] = set()
        """Answers under way."""
        self.url = ""
        self.peak = 0
        self.arrivals: list[float] = []

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0, backlog=2048)
        port = self._server.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{port}/v1/chat/completions"

    def reset(self, count: int) -> None:
        """Reset the connections of so many answers."""
        for writer in list(self.streams)[:count]:
            self.streams.discard(writer)
            _abort(writer)

    async def kill(self) -> None:
        """Nobody listens any more, and all connections are reset."""
        if self._server is not None:
            self._server.close()
        self.reset(len(self.streams))

    async def stop(self) -> None:
        await self.kill()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def all_held(self, count: int) -> bool:
        """Have so many answers come to where they are held?"""
        return self._held >= count

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            await self._answer(orjson.loads(await _body(reader)), writer)
        self.streams.discard(writer)
        writer.close()

    async def _answer(self, asked: dict[str, object], writer: asyncio.StreamWriter) -> None:
        loop = asyncio.get_running_loop()
        self.streams.add(writer)
        pace_s = self._pace_s * (LONGER if asked.get("user") == LONG else 1)
        self.arrivals.append(loop.time())
        self.peak = max(self.peak, len(self.streams))
        writer.write(_HEAD)
        events = self._model.reply("openai-chat", asked).events
        hold_at = 2 + len(self.arrivals) % (len(events) // 2)
        for number, event in enumerate(events, start=1):
            writer.write(b"%x\r\n%b\r\n" % (len(event), event))
            await writer.drain()
            if number == hold_at:
                self._held += 1
                await self._gate.wait()
            if number < len(events) - 2:  # what ends an answer leaves with it, or it would count for longer
                await asyncio.sleep(pace_s)
            if writer.transport.is_closing():
                raise ConnectionResetError
        writer.write(b"0\r\n\r\n")
        await writer.drain()


async def _body(reader: asyncio.StreamReader) -> bytes:
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    length = int(head.partition(b"content-length:")[2].partition(b"\r\n")[0])
    return await reader.readexactly(length)


def _abort(writer: asyncio.StreamWriter) -> None:
    """A reset, as a process that dies sends it."""
    connection: socket.socket = writer.get_extra_info("socket")
    with contextlib.suppress(OSError):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_NOT)
    writer.transport.abort()
