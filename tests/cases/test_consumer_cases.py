"""Reported cases of the reader's side: who leaves takes the upstream along, who waits holds it back."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import aiohttp
import httpx2
import pytest
from aiohttp import web

from seamstream import ProfileBook, RecoveryMiddleware
from seamstream.httpx import SyncRecoveryTransport
from seamstream.testing import Answer, DeterministicModel, Ending, FakeClock, Fault, FaultServer, Text
from seamstream.testing.local_server import LocalServer
from tests.middleware.asking import PATIENCE_S, QUESTION, Asker, Scene, until
from tests.middleware.test_healing import AT_ONCE

MIB = 1 << 20
TALKER = DeterministicModel(Answer((Text(("t1 ", "t2 ", "t3 ", "t4 ")),)))
FOR_EVER = Fault.stall_with_pings(0.05, after_events=4)


class ReaderError(Exception):
    """The consumer's own failure."""


async def _reads(scene: Scene, started: asyncio.Event, how: str) -> None:
    async with scene.post() as response:
        async for _ in response.content.iter_any():
            started.set()
            if how == "break":
                break
            if how == "exception":
                raise ReaderError
            if how == "close":
                response.close()
                return


@pytest.mark.parametrize("how", ["break", "exception", "close", "cancel"])
async def test_b81_a_reader_that_leaves_closes_upstream(asker: Asker, how: str) -> None:
    started = asyncio.Event()
    async with asker.scene([FOR_EVER], model=TALKER, policy=AT_ONCE) as scene:
        reading = asyncio.create_task(_reads(scene, started, how))
        await started.wait()
        if how == "cancel":
            reading.cancel()
        expected = {"exception": ReaderError, "cancel": asyncio.CancelledError}.get(how)
        with pytest.raises(expected) if expected else contextlib.nullcontext():
            await reading
        await scene.requests[0].over()
        assert scene.requests[0].client_left_at is not None
        assert len(scene.requests) == 1
    assert scene.runs[0].kind == "cancelled"


async def test_b81_cancelled_before_the_first_byte(asker: Asker) -> None:
    async with asker.scene([Fault.no_response(Ending.STALL)], policy=AT_ONCE) as scene:
        reading = asyncio.create_task(scene.read())
        await until(lambda: scene.requests)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        await scene.requests[0].over()
        assert len(scene.requests) == 1


async def test_b81_a_sync_reader_that_leaves(asker: Asker) -> None:
    def read(url: str) -> None:
        transport = SyncRecoveryTransport(httpx2.HTTPTransport(), AT_ONCE)
        with (
            httpx2.Client(transport=transport) as client,
            client.stream("POST", url, json=QUESTION) as answer,
        ):
            for _ in answer.iter_raw():
                break

    async with asyncio.timeout(PATIENCE_S), FaultServer(TALKER, [FOR_EVER]) as server:
        await asyncio.to_thread(read, server.url_for("openai-chat"))
        await server.requests[0].over()
        assert server.requests[0].client_left_at is not None


async def test_b81_an_error_s_body_that_nobody_reads_keeps_no_connection(asker: Asker) -> None:
    """Neither those of attempts that were tried again nor the last, which the caller leaves alone."""
    always = Fault.http_error(503, {"retry-after": "0"})
    async with asker.scene(lambda _: always, policy=AT_ONCE) as scene:
        async with scene.post() as response:
            assert response.status == 503
        connector: Any = scene.session.connector
        assert len(scene.requests) == AT_ONCE.max_recoveries + 1
        await until(lambda: not connector._acquired)


class EndlessServer:
    """Writes events of a kilobyte for as long as somebody takes them, and counts what was taken."""

    def __init__(self) -> None:
        text = b"x" * 1000
        self.event = b'data: {"choices":[{"index":0,"delta":{"content":"' + text + b'"}}]}\n\n'
        self.taken = 0
        self.blocked = asyncio.Event()
        self.server = LocalServer(self._handle)

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        with contextlib.suppress(ConnectionError):
            while True:
                writing = asyncio.ensure_future(response.write(self.event))
                await asyncio.sleep(0)
                if not writing.done():
                    self.blocked.set()
                await writing
                self.taken += len(self.event)
        return response


async def test_b82_a_reader_that_waits_holds_the_provider_back_and_is_no_stall() -> None:
    """Of an endless answer only what fits into sockets and one buffer is taken; then time does not count."""
    clock, endless = FakeClock(), EndlessServer()
    await endless.server.start()
    middleware = RecoveryMiddleware(AT_ONCE, clock=clock, profiles=ProfileBook())
    async with asyncio.timeout(PATIENCE_S), aiohttp.ClientSession(middlewares=[middleware]) as session:
        async with session.post(f"{endless.server.url}/v1/chat/completions", json=QUESTION) as response:
            for _ in range(10):
                assert await response.content.readuntil(b"\n\n") == endless.event
            await endless.blocked.wait()
            taken: Any = endless.taken
            await clock.advance(3_600.0)
            assert endless.taken - taken < MIB
            assert taken < 16 * MIB
            for _ in range(20_000):
                assert await response.content.readuntil(b"\n\n") == endless.event
        assert endless.taken > taken
    await endless.server.stop()
