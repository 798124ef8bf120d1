"""The script of a server, and its record of what was asked and sent."""

from __future__ import annotations

import json

from seamstream.testing import DeterministicModel, Ending, Exchange, Fault, FaultServer

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
