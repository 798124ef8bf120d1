"""Faults that leave the connection open, seen by a client that reads raw sockets."""

from __future__ import annotations

import asyncio

import pytest

from seamstream.testing import Delivery, DeterministicModel, Dialect, Ending, Fault, FaultServer

from .conftest import Run
from .raw_client import ASK, Connection


def test_a_malformed_chunk_size_comes_on_an_open_connection(run: Run, model: DeterministicModel) -> None:
    async def read() -> None:
        async with FaultServer(model, [Fault.bad_chunk_size(after_events=1)]) as server:
            connection = await Connection.open(server)
            await connection.ask()
            received = await connection.until(b"no size\r\n")
            first = model.reply("openai-chat", ASK).events[0]
            assert received.rest == b"%x\r\n%b\r\n" % (len(first), first) + b"this is no size\r\n"
            assert received.ended == "open"
            await connection.close()
            await server.requests[0].over()

    run(read())


def test_a_stall_keeps_the_socket_open_and_ends_when_the_client_leaves(
    run: Run, model: DeterministicModel
) -> None:
    async def stall() -> None:
        async with FaultServer(model, [Fault.stall(after_events=2)]) as server:
            connection = await Connection.open(server)
            await connection.ask()
            second = model.reply("openai-chat", ASK).events[1]
            assert (await connection.until(second)).ended == "open"
            exchange = server.requests[0]
            assert not exchange.finished
            await connection.close()
            await exchange.over()
            assert exchange.client_left_at == len(exchange.sent)
            assert exchange.sent.endswith(second)

    run(stall())


@pytest.mark.parametrize(
    ("dialect", "ping"),
    [("openai-chat", b": keep-alive\n\n"), ("anthropic", b'event: ping\ndata: {"type":"ping"}\n\n')],
)
def test_a_stall_can_send_pings_all_the_while(
    run: Run, model: DeterministicModel, dialect: Dialect, ping: bytes
) -> None:
    async def stall() -> None:
        fault = Fault.stall_with_pings(0.001, after_events=1)
        async with FaultServer(model, [fault]) as server:
            connection = await Connection.open(server)
            await connection.ask(dialect)
            chunk = b"%x\r\n%b\r\n" % (len(ping), ping)
            received = await connection.until(chunk * 3)
            assert received.rest.endswith(chunk * 3)
            await connection.close()
            exchange = server.requests[0]
            await exchange.over()
            assert exchange.pings >= 3
            assert bytes(exchange.sent) == model.reply(dialect, ASK).events[0]

    run(stall())


def test_a_reader_that_does_not_read_holds_the_reply_up(run: Run, model: DeterministicModel) -> None:
    async def ask() -> None:
        page = Fault(Ending.COMPLETE, body=b"x" * 30_000_000)
        async with FaultServer(model, [page], delivery=Delivery(write_bytes=65536)) as server:
            connection = await Connection.open(server)
            await connection.ask()
            await connection.until(b"200")
            exchange = server.requests[0]
            sent = -1
            while sent != len(exchange.sent):
                sent = len(exchange.sent)
                for _ in range(100):
                    await asyncio.sleep(0)
            assert len(exchange.sent) < 30_000_000
            await connection.close()
            await exchange.over()
            assert exchange.client_left_at is not None

    run(ask())


def test_leaving_the_server_ends_its_stalls(run: Run, model: DeterministicModel) -> None:
    async def leave() -> list[str]:
        async with FaultServer(model, lambda _: Fault.stall(after_events=1)) as server:
            connections = [await Connection.open(server) for _ in range(3)]
            for connection in connections:
                await connection.ask()
                await connection.until(b"\n\n")
        ended = [(await connection.to_the_end()).ended for connection in connections]
        for connection in connections:
            await connection.close()
        tasks = [task.get_name() for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        assert tasks == []
        return ended

    assert run(leave()) == ["fin"] * 3
