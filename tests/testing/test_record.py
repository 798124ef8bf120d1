"""The script of a server, and its record of what was asked and sent."""

from __future__ import annotations

import json

from seamstream.testing import DeterministicModel, Ending, Exchange, FakeClock, Fault, FaultServer

from .conftest import Run
from .raw_client import ASK, Connection, fetch, unchunk, whole


def test_the_record_says_what_was_asked_and_sent(run: Run, model: DeterministicModel) -> None:
    async def ask() -> None:
        script = [Fault.reset(after_events=2), Fault.none()]
        async with FaultServer(model, script) as server:
            await fetch(server, more="X-Api-Key: k1\r\n")
            connection = await Connection.open(server)
            await connection.ask("anthropic")
            await connection.until(b"message_stop")
            first, second = server.requests
            await second.over()
            await connection.close()
        assert (first.number, second.number) == (1, 2)
        assert (first.dialect, second.dialect) == ("openai-chat", "anthropic")
        assert first.headers["x-api-key"] == "k1"
        assert first.body == json.loads(first.raw_body) == ASK
        assert bytes(first.sent) == b"".join(model.reply("openai-chat", ASK).events[:2])
        assert bytes(second.sent) == whole(model, "anthropic")
        assert first.fault.ending is Ending.RESET
        assert second.status == 200
        assert second.response_headers["request-id"] == "req_2"
        assert first.connection != second.connection

    run(ask())


def test_a_script_can_be_a_function_of_the_request(run: Run, model: DeterministicModel) -> None:
    async def ask() -> list[str]:
        def script(exchange: Exchange) -> Fault:
            return Fault.fin(after_events=1) if exchange.dialect == "anthropic" else Fault.none()

        async with FaultServer(model, script, connections="close") as server:
            chat, anthropic = await fetch(server), await fetch(server, "anthropic")
            return [str(unchunk(chat.rest)[1]), str(unchunk(anthropic.rest)[1])]

    assert run(ask()) == ["True", "False"]


def test_times_are_those_of_the_clock_that_was_given(run: Run, model: DeterministicModel) -> None:
    async def ask() -> None:
        clock = FakeClock(monotonic=100.0)
        fault = Fault.stall_with_pings(30.0, after_events=1)
        async with FaultServer(model, [fault], clock=clock) as server:
            async with await Connection.open(server) as connection:
                await connection.ask()
                await connection.until(b"\n\n")
                exchange = server.requests[0]
                for _ in range(3):
                    await clock.advance(30.0)
                    assert (await connection.until(b": keep-alive\n\n")).ended == "open"
                assert (exchange.pings, exchange.arrived_s, exchange.ended_s) == (3, 100.0, None)
            await exchange.over()
        assert exchange.ended_s == 190.0

    run(ask())
