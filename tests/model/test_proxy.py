"""The cut proxy itself, against canned wire bytes: were it wrong, the model's figures would mean nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from .tcp_proxy import Break, Cut, CutProxy

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
CHUNKED_HEAD = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
CHUNKS = (b"data: one\n\n", b"data: zw\xc3\xb6lf\n\n", b"d", b"ata: [DONE]\n\n")
CHUNKED_BODY = b"".join(b"%X\r\n%b\r\n" % (len(chunk), chunk) for chunk in CHUNKS) + b"0\r\n\r\n"
PAYLOAD = b"".join(CHUNKS)
REQUEST = b"POST /v1 HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello"


@asynccontextmanager
async def canned_server(*responses: bytes, close_after: bool = False) -> AsyncIterator[CutProxy]:
    """A proxy in front of a server that answers each request with the next of `responses`, byte for byte."""
    queue = list(responses)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while queue and await reader.readuntil(b"\r\n\r\n"):
                await reader.readuntil(b"lo")
                writer.write(queue.pop(0))
                await writer.drain()
                if close_after:
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async with (
        await asyncio.start_server(answer, "127.0.0.1", 0) as server,
        CutProxy(server.sockets[0].getsockname()[1]) as proxy,
    ):
        yield proxy


class Client:
    """A raw socket reader that tells a reset from an end."""

    def __init__(self, proxy: CutProxy) -> None:
        self._port = int(proxy.url.rpartition(":")[2])
        self.received = b""
        self.was_reset = False

    async def __aenter__(self) -> Client:
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._writer.close()

    async def request(self, wire: bytes = REQUEST, expected_bytes: int | None = None) -> None:
        """Send one request; read until the connection is over, or only so many bytes of one kept alive."""
        self._writer.write(wire)
        try:
            if expected_bytes is not None:
                self.received += await self._reader.readexactly(expected_bytes)
            while expected_bytes is None and (data := await self._reader.read(65_536)):
                self.received += data
        except ConnectionResetError:
            self.was_reset = True


async def fetch(proxy: CutProxy) -> Client:
    async with Client(proxy) as client:
        await client.request()
    return client


def wire_bytes_of(payload_bytes: int) -> int:
    """Where in CHUNKED_BODY the first `payload_bytes` have arrived (a whole chunk carries its line end)."""
    position = 0
    for chunk in CHUNKS:
        if payload_bytes <= 0:
            break
        whole = len(b"%X\r\n" % len(chunk)) + len(chunk) + 2
        position += whole if payload_bytes >= len(chunk) else whole - 2 - len(chunk) + payload_bytes
        payload_bytes -= len(chunk)
    return position


async def test_unscripted_responses_pass_verbatim() -> None:
    wire = CHUNKED_HEAD + CHUNKED_BODY
    async with canned_server(wire, wire) as proxy, Client(proxy) as client:
        for _ in range(2):
            await client.request(expected_bytes=len(wire))
        assert client.received == wire * 2
        assert [exchange.request_body for exchange in proxy.exchanges] == [b"hello", b"hello"]
        assert [exchange.response_body for exchange in proxy.exchanges] == [PAYLOAD, PAYLOAD]


@pytest.mark.parametrize("how", [Break.RESET, Break.CLOSE])
@pytest.mark.parametrize("at_byte", range(len(PAYLOAD) + 1))
async def test_broken_at_every_byte_of_a_chunked_body(at_byte: int, how: Break) -> None:
    async with canned_server(CHUNKED_HEAD + CHUNKED_BODY) as proxy:
        proxy.script(Cut(at_byte, how))
        client = await fetch(proxy)
        assert client.received == CHUNKED_HEAD + CHUNKED_BODY[: wire_bytes_of(at_byte)]
        assert client.was_reset == (how is Break.RESET)
        assert proxy.exchanges[0].broken
        assert proxy.exchanges[0].response_body == PAYLOAD[:at_byte]


@pytest.mark.parametrize("at_byte", range(len(PAYLOAD) + 1))
async def test_ended_early_but_properly_at_every_byte(at_byte: int) -> None:
    async with canned_server(CHUNKED_HEAD + CHUNKED_BODY) as proxy:
        proxy.script(Cut(at_byte, Break.END))
        client = await fetch(proxy)
    assert not client.was_reset
    assert client.received.endswith(b"0\r\n\r\n")
    lines = client.received.removeprefix(CHUNKED_HEAD)
    payload = b""
    while lines != b"0\r\n\r\n":
        size, _, rest = lines.partition(b"\r\n")
        payload += rest[: int(size, 16)]
        lines = rest[int(size, 16) :].removeprefix(b"\r\n")
    assert payload == PAYLOAD[:at_byte]


@pytest.mark.parametrize("how", [Break.RESET, Break.CLOSE])
async def test_broken_inside_a_body_of_known_length(how: Break) -> None:
    head = HEAD + b"Content-Length: %d\r\n\r\n" % len(PAYLOAD)
    async with canned_server(head + PAYLOAD) as proxy:
        proxy.script(Cut(9, how))
        client = await fetch(proxy)
    assert client.received == head + PAYLOAD[:9]
    assert client.was_reset == (how is Break.RESET)


async def test_broken_inside_a_body_that_lasts_until_the_close() -> None:
    async with canned_server(HEAD + b"\r\n" + PAYLOAD, close_after=True) as proxy:
        proxy.script(Cut(7))
        client = await fetch(proxy)
    assert client.received == HEAD + b"\r\n" + PAYLOAD[:7]
    assert client.was_reset


async def test_only_the_scripted_request_is_broken() -> None:
    wire = CHUNKED_HEAD + CHUNKED_BODY
    async with canned_server(wire, wire, wire) as proxy:
        proxy.script(None, Cut(12))
        async with Client(proxy) as client:
            await client.request(expected_bytes=len(wire))
            await client.request()
            assert client.was_reset
            assert client.received == wire + CHUNKED_HEAD + CHUNKED_BODY[: wire_bytes_of(12)]
        async with Client(proxy) as client:
            await client.request(expected_bytes=len(wire))
            assert client.received == wire
    assert [exchange.broken for exchange in proxy.exchanges] == [False, True, False]


async def test_a_cut_beyond_the_end_is_not_made() -> None:
    wire = CHUNKED_HEAD + CHUNKED_BODY
    async with canned_server(wire) as proxy, Client(proxy) as client:
        proxy.script(Cut(len(PAYLOAD) + 1))
        await client.request(expected_bytes=len(wire))
        assert client.received == wire
        assert not proxy.exchanges[0].broken


async def test_a_chunked_request_is_recorded_decoded_and_passed_as_it_came() -> None:
    request = (
        b"POST /v1 HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n"
    )
    wire = CHUNKED_HEAD + CHUNKED_BODY
    async with canned_server(wire) as proxy, Client(proxy) as client:
        await client.request(request, expected_bytes=len(wire))
        assert client.received == wire
        assert proxy.exchanges[0].request_body == b"hello"


async def test_a_dead_server_is_a_reset() -> None:
    async with await asyncio.start_server(lambda _r, _w: None, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
    async with CutProxy(port) as proxy:
        client = await fetch(proxy)
    assert client.was_reset
    assert client.received == b""


async def test_a_server_that_dies_in_the_middle_ends_the_reader_too() -> None:
    async with canned_server(CHUNKED_HEAD + CHUNKED_BODY[:20], close_after=True) as proxy:
        client = await fetch(proxy)
    assert client.received == CHUNKED_HEAD + CHUNKED_BODY[: wire_bytes_of(len(CHUNKS[0]))]
