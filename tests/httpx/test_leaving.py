"""A reader that leaves takes its upstream with it, and a slow one slows it down."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from seamstream import capture
from seamstream.httpx import RecoveryTransport, SyncRecoveryTransport
from seamstream.testing import Answer, DeterministicModel, Ending, FakeClock, Fault, FaultServer, Text
from tests.httpx.asking import ASK, AT_ONCE, SPOKEN, whole

STALL = Fault.stall(after_events=5)
# In the middle of attempt 1, and of attempt 2.
SCRIPTS = {"attempt 1": [STALL], "attempt 2": [Fault.clean_end(after_events=4), STALL]}
LEFT_S = 5.0


def a_client(library: Any, **options: Any) -> Any:
    return library.AsyncClient(transport=RecoveryTransport(library.AsyncHTTPTransport(), AT_ONCE), **options)


def a_sync_client(library: Any) -> Any:
    return library.Client(transport=SyncRecoveryTransport(library.HTTPTransport(), AT_ONCE))


async def read_until_stalled(response: Any, server: FaultServer, attempts: int) -> None:
    """Take chunks until the last attempt's events have all come."""
    chunks = response.aiter_raw()
    async for _ in chunks:
        last = server.requests[-1]
        if len(server.requests) == attempts and last.sent and b"grow" in bytes(last.sent):
            return


async def until(condition: Callable[[], object]) -> None:
    """Let the server, which runs in the same loop, come so far."""
    for _ in range(1_000_000):
        if condition():
            return
        await asyncio.sleep(0)
    pytest.fail("the server never came so far")


@pytest.mark.parametrize("name", SCRIPTS)
async def test_closing_in_the_middle_closes_upstream(library: Any, name: str) -> None:
    script = SCRIPTS[name]
    with capture() as outcomes:
        async with FaultServer(SPOKEN, script) as server, a_client(library) as client:
            async with client.stream("POST", server.url_for("openai-chat"), json=ASK) as response:
                await read_until_stalled(response, server, len(script))
            await asyncio.wait_for(server.requests[-1].over(), LEFT_S)
            assert server.requests[-1].client_left_at is not None
    assert [outcome.kind for outcome in outcomes] == ["cancelled"]


@pytest.mark.parametrize("name", SCRIPTS)
async def test_cancelling_the_reader_closes_upstream(library: Any, name: str) -> None:
    script, reading = SCRIPTS[name], asyncio.Event()

    async def read(client: Any, url: str) -> None:
        async with client.stream("POST", url, json=ASK) as response:
            async for _ in response.aiter_raw():
                reading.set()

    async with FaultServer(SPOKEN, script) as server, a_client(library) as client:
        task = asyncio.create_task(read(client, server.url_for("openai-chat")))
        await reading.wait()
        await until(lambda: len(server.requests) == len(script) and server.requests[-1].sent)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(server.requests[-1].over(), LEFT_S)
        assert server.requests[-1].client_left_at is not None


async def test_cancelling_before_the_headers_closes_upstream(library: Any) -> None:
    async with FaultServer(SPOKEN, [Fault.no_response(Ending.STALL)]) as server, a_client(library) as client:
        task = asyncio.create_task(client.post(server.url_for("openai-chat"), json=ASK))
        await until(lambda: server.requests)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(server.requests[0].over(), LEFT_S)


@pytest.mark.parametrize("name", SCRIPTS)
async def test_closing_in_the_middle_closes_upstream_sync(library: Any, name: str) -> None:
    script = SCRIPTS[name]

    def read(server: FaultServer) -> None:
        with (
            a_sync_client(library) as client,
            client.stream("POST", server.url_for("openai-chat"), json=ASK) as response,
        ):
            for _ in response.iter_raw():
                if len(server.requests) == len(script):
                    return

    with capture() as outcomes:
        async with FaultServer(SPOKEN, script) as server:
            await asyncio.to_thread(read, server)
            await asyncio.wait_for(server.requests[-1].over(), LEFT_S)
            assert server.requests[-1].client_left_at is not None
    assert [outcome.kind for outcome in outcomes] == ["cancelled"]


async def test_one_connection_is_enough_for_a_recovery(library: Any) -> None:
    inner = library.AsyncHTTPTransport(limits=library.Limits(max_connections=1))
    script = [Fault.stall(after_events=4), Fault.in_band_error(529, after_events=4)]
    policy = AT_ONCE.replace(idle_s=0.3)
    async with (
        FaultServer(SPOKEN, script) as server,
        library.AsyncClient(transport=RecoveryTransport(inner, policy), timeout=5) as client,
    ):
        for _ in range(2):
            response = await client.post(server.url_for("openai-chat"), json=ASK)
            assert response.content.endswith(b"data: [DONE]\n\n")


async def test_back_pressure_reaches_the_server(library: Any) -> None:
    long = DeterministicModel(Answer((Text(("word " * 20_000,) * 200),)))
    size = len(whole(long, "openai-chat"))
    async with FaultServer(long) as server, a_client(library) as client:
        async with client.stream("POST", server.url_for("openai-chat"), json=ASK) as response:
            chunks = response.aiter_raw()
            await anext(chunks)
            exchange = server.requests[0]
            sent = -1
            while sent != len(exchange.sent):  # until the server can write no more
                sent = len(exchange.sent)
                for _ in range(200):
                    await asyncio.sleep(0)
            assert sent < size // 2
        await asyncio.wait_for(exchange.over(), LEFT_S)


async def test_a_paused_reader_is_not_called_a_stall(library: Any) -> None:
    policy, clock = AT_ONCE.replace(terminal_grace_s=60.0), FakeClock()
    transport = RecoveryTransport(library.AsyncHTTPTransport(), policy, clock=clock)
    with capture() as outcomes:
        async with (
            FaultServer(SPOKEN) as server,
            library.AsyncClient(transport=transport) as client,
            client.stream("POST", server.url_for("openai-chat"), json=ASK) as response,
        ):
            await server.requests[0].over()  # everything is in the socket's buffer by now
            clock.tick(2 * policy.quiet_s)
            body = b"".join([chunk async for chunk in response.aiter_raw()])
    assert body == whole(SPOKEN, "openai-chat")
    assert [outcome.kind for outcome in outcomes] == ["complete"]
