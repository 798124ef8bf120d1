"""A whole answer in one segment with its head: aiohttp has ended the body before the middleware sees it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import pytest

from seamstream import RecoveryMiddleware, RecoveryPolicy
from seamstream.recovery.continuation.dialects import form_of
from seamstream.testing.fault_server import PATHS_OF_DIALECTS
from tests.corpus import STREAMS, CorpusStream

REQUESTS = 3
"""The connection is kept, so that the second answer meets a waiting reader."""
PATHS = {dialect: path for path, dialect in PATHS_OF_DIALECTS.items()}
SHORT = [stream for stream in STREAMS if len(stream.data) < 8000]


def answer(stream: CorpusStream, framing: str) -> bytes:
    kind = form_of(stream.dialect).media_types[0].encode()
    head = b"HTTP/1.1 200 OK\r\ncontent-type: %s\r\n" % kind
    if framing == "length":
        return head + b"content-length: %d\r\n\r\n%s" % (len(stream.data), stream.data)
    return head + b"transfer-encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n" % (len(stream.data), stream.data)


@asynccontextmanager
async def provider(data: bytes) -> AsyncIterator[str]:
    """Answers every request with one write."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while b"content-length" in (head := (await _head(reader)).lower()):
            await reader.readexactly(int(head.partition(b"content-length:")[2].partition(b"\r\n")[0]))
            writer.write(data)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def _head(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return b""


def in_order(data: bytes) -> list[bytes]:
    """The events without pings and comments, which may overtake what is held."""
    lines = data.replace(b"\r\n", b"\n").split(b"\n")
    events = b"\n".join(line for line in lines if not line.startswith(b":")).split(b"\n\n")
    return [event.strip(b"\n") for event in events if event.strip(b"\n") and b"event: ping" not in event]


@pytest.mark.parametrize("mode", ["recover", "observe"])
@pytest.mark.parametrize("framing", ["chunked", "length"])
@pytest.mark.parametrize("stream", SHORT, ids=str)
async def test_the_answer_passes_verbatim(stream: CorpusStream, framing: str, mode: str) -> None:
    middleware = RecoveryMiddleware(RecoveryPolicy(mode=mode))
    async with (
        provider(answer(stream, framing)) as url,
        aiohttp.ClientSession(middlewares=[middleware]) as client,
        asyncio.timeout(20),
    ):
        for _ in range(REQUESTS):
            async with client.post(url + PATHS[stream.dialect], json=stream.request) as response:
                read = await response.read()
            assert in_order(read) == in_order(stream.data)
            assert len(read) == len(stream.data)
