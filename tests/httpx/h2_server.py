"""A raw HTTP/2 server with prior knowledge, whose GOAWAY and RST_STREAM come where a script says."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from dataclasses import dataclass, field
from types import TracebackType
from typing import Literal

import h2.config
import h2.connection
import h2.events
from hyperframe.frame import GoAwayFrame, RstStreamFrame

from seamstream.testing import DeterministicModel

LIMITLESS = 2**31 - 1
Then = Literal["goes on", "end stream", "fin", "tcp reset", "silence"]


@dataclass(frozen=True)
class Break:
    """What one stream meets after `events` events (None: before its headers)."""

    events: int | None = 4
    goaway: int | None = None
    """The error code of a GOAWAY."""
    last_stream: int | None = None
    """Its last stream; None is ours."""
    reset: int | None = None
    """The error code of a RST_STREAM."""
    then: Then = "silence"


@dataclass
class _Connection:
    state: h2.connection.H2Connection
    writer: asyncio.StreamWriter
    bodies: dict[int, bytearray] = field(default_factory=dict)
    paths: dict[int, str] = field(default_factory=dict)
    waiting: list[tuple[int, Break, bytes]] = field(default_factory=list)
    """What is done once the client has read what was sent so far."""

    def flush(self) -> None:
        self.writer.write(self.state.data_to_send())


class H2Server:
    """An async context manager. `asked` are the streams of POST requests that came, by connection."""

    def __init__(self, model: DeterministicModel, script: list[Break]) -> None:
        self._model = model
        self._script = list(script)
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self._connections = 0
        self.asked: list[tuple[int, int]] = []

    async def __aenter__(self) -> H2Server:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def url(self) -> str:
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._tasks.add(task)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections += 1
        number = self._connections
        config = h2.config.H2Configuration(client_side=False)
        connection = _Connection(h2.connection.H2Connection(config=config), writer)
        connection.state.initiate_connection()
        connection.flush()
        try:
            while data := await reader.read(65_536):
                for event in connection.state.receive_data(data):
                    self._receive(connection, number, event)
                if not writer.is_closing():
                    connection.flush()
        except ConnectionError:
            pass
        finally:
            writer.close()

    def _receive(self, connection: _Connection, number: int, event: h2.events.Event) -> None:
        if isinstance(event, h2.events.RequestReceived):
            connection.paths[event.stream_id] = dict(event.headers)[b":path"].decode()
            connection.bodies[event.stream_id] = bytearray()
        elif isinstance(event, h2.events.DataReceived):
            connection.bodies[event.stream_id] += event.data
            connection.state.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        elif isinstance(event, h2.events.StreamEnded):
            self._answer(connection, number, event.stream_id)
        elif isinstance(event, h2.events.PingAckReceived):
            self._break(connection, *connection.waiting.pop())

    def _answer(self, connection: _Connection, number: int, stream: int) -> None:
        path, state = connection.paths[stream], connection.state
        if path == "/warm-up":
            state.send_headers(stream, [(":status", "204")], end_stream=True)
            return
        self.asked.append((number, stream))
        dialect = "anthropic" if path == "/v1/messages" else "openai-chat"
        reply = self._model.reply(dialect, json.loads(connection.bodies[stream]))
        fate = self._script.pop(0) if self._script else None
        if fate is None or fate.events is not None:
            headers = [(":status", str(reply.status)), ("content-type", reply.headers["content-type"])]
            state.send_headers(stream, headers)
            state.send_data(stream, b"".join(reply.events[: fate.events if fate else None]))
        if fate is None:
            state.end_stream(stream)
        elif fate.events is None:
            self._break(connection, stream, fate, b"")
        else:
            connection.waiting.append((stream, fate, b"".join(reply.events[fate.events :])))
            state.ping(b"are you?")

    def _break(self, connection: _Connection, stream: int, fate: Break, rest: bytes) -> None:
        """GOAWAY goes past h2, which would let nothing follow it."""
        writer, frames = connection.writer, b""
        if fate.goaway is not None:
            last = stream if fate.last_stream is None else fate.last_stream
            frame = GoAwayFrame(0, last_stream_id=last, error_code=fate.goaway, additional_data=b"why")
            frames += frame.serialize()
        if fate.reset is not None:
            frames += RstStreamFrame(stream, error_code=fate.reset).serialize()
        if fate.then == "goes on":
            connection.state.send_data(stream, rest, end_stream=True)
        elif fate.then == "end stream":
            connection.state.end_stream(stream)
        writer.write(frames + connection.state.data_to_send())
        if fate.then == "fin":
            writer.close()
        elif fate.then == "tcp reset":
            linger = struct.pack("ii", 1, 0)
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            writer.transport.abort()
