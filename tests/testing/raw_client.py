"""A client that owes nothing to an HTTP library: it keeps every byte and says how the connection ended."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any

from seamstream.testing import DeterministicModel, Dialect, Fault, FaultServer

from .conftest import Run

ASK: dict[str, Any] = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "hello"}]}


@dataclass(frozen=True)
class Received:
    """`ended`: "fin", "reset", or "open" when the reader left first."""

    raw: bytes
    ended: str

    @property
    def head(self) -> str:
        return self.raw.partition(b"\r\n\r\n")[0].decode().lower()

    @property
    def rest(self) -> bytes:
        return self.raw.partition(b"\r\n\r\n")[2]


class Connection:
    """One TCP connection to a FaultServer."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    @classmethod
    async def open(cls, server: FaultServer) -> Connection:
        host, port = server.url.removeprefix("http://").split(":")
        return cls(*await asyncio.open_connection(host, int(port)))

    async def __aenter__(self) -> Connection:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def ask(
        self, dialect: Dialect = "openai-chat", *, body: Any = ASK, path: str = "", more: str = ""
    ) -> None:
        path = path or ("/v1/messages" if dialect == "anthropic" else "/v1/chat/completions")
        data = json.dumps(body).encode()
        head = f"POST {path} HTTP/1.1\r\nHost: test\r\nContent-Type: application/json\r\n{more}"
        self.writer.write(f"{head}Content-Length: {len(data)}\r\n\r\n".encode() + data)
        await self.writer.drain()

    async def until(self, seen: bytes) -> Received:
        """Read until `seen` has come or the connection has ended."""
        raw = b""
        while seen not in raw:
            try:
                data = await self.reader.read(65536)
            except ConnectionResetError:
                return Received(raw, "reset")
            if not data:
                return Received(raw, "fin")
            raw += data
        return Received(raw, "open")

    async def to_the_end(self) -> Received:
        return await self.until(b"\0 never sent")

    async def close(self) -> None:
        self.writer.close()
        try:
            await self.writer.wait_closed()
        except ConnectionResetError:
            return


async def fetch(server: FaultServer, dialect: Dialect = "openai-chat", **asked: Any) -> Received:
    """Ask once and read to the end of the connection."""
    async with await Connection.open(server) as connection:
        await connection.ask(dialect, **asked)
        return await connection.to_the_end()


def whole(model: DeterministicModel, dialect: Dialect = "openai-chat") -> bytes:
    return model.reply(dialect, ASK).payload


def ask_once(run: Run, model: DeterministicModel, fault: Fault, dialect: Dialect = "openai-chat") -> Received:
    async def once() -> Received:
        async with FaultServer(model, [fault], connections="close") as server:
            return await fetch(server, dialect)

    received: Received = run(once())
    return received


def unchunk(data: bytes) -> tuple[bytes, bool]:
    """The body in chunked bytes, and whether its last chunk is there."""
    body = b""
    while data:
        size, _, data = data.partition(b"\r\n")
        length = int(size, 16)
        if length == 0:
            return body, data == b"\r\n"
        body, data = body + data[:length], data[length + 2 :]
    return body, False
