"""Whose connection is it: limits, reuse, ends that come late, and readers who leave at any moment."""

from __future__ import annotations

import asyncio
import gc
import weakref
from typing import Any

import aiohttp
import pytest

from seamstream import StreamCutError
from seamstream.testing import (
    Answer,
    DeterministicModel,
    Dialect,
    FakeClock,
    Fault,
    Text,
    differences,
    tokens,
)
from tests.middleware.asking import DIALECTS, Asker, Scene, read_on, turns_of_the_loop, until
from tests.middleware.test_healing import AT_ONCE

LONG = DeterministicModel(Answer((Text(tokens("All about reefs, at length. " * 400)),)))


def connector(scene: Scene) -> Any:
    return scene.session.connector


def acquired(scene: Scene) -> int:
    """How many connections the session holds for somebody."""
    return len(connector(scene)._acquired)


@pytest.mark.parametrize("fault", [Fault.reset(after_events=12), Fault.in_band_error(529, after_events=12)])
async def test_one_connection_is_enough_to_recover(asker: Asker, fault: Fault) -> None:
    expected = await asker.unbroken_turn()
    one = aiohttp.TCPConnector(limit=1)
    async with asker.scene([fault], connector=one, policy=AT_ONCE) as scene:
        assert differences(expected, await scene.turn()) == []
        assert acquired(scene) == 0


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_healthy_answers_share_one_connection(asker: Asker, dialect: Dialect) -> None:
    async with asker.scene(dialect=dialect) as scene:
        for _ in range(3):
            await scene.read()
        assert len({exchange.connection for exchange in scene.requests}) == 1


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_recovered_answer_gives_its_connection_back(asker: Asker, dialect: Dialect) -> None:
    async with asker.scene([Fault.reset(after_events=12)], dialect=dialect, policy=AT_ONCE) as scene:
        await scene.read()
        await until(lambda: acquired(scene) == 0)
        await scene.read()
        assert scene.requests[2].connection == scene.requests[1].connection


async def test_an_answer_ends_with_its_terminal_event_and_not_with_the_connection(asker: Asker) -> None:
    """The body never ends: the reader has all of it at once, its end a moment later, and no error."""
    clock, chunks = FakeClock(), list[bytes]()
    expected = await asker.unbroken()
    async with asker.scene([Fault.stall()], middleware={"clock": clock}) as scene:
        reading = asyncio.create_task(read_on(scene, chunks))
        await until(lambda: b"".join(chunks) == expected)
        await turns_of_the_loop()
        assert not reading.done()
        await clock.advance(0.1)
        await reading
        assert acquired(scene) == 0
        await scene.requests[0].over()
        assert scene.runs[0].kind == "complete"


async def test_a_connection_that_ends_its_body_a_little_late_is_used_again(asker: Asker) -> None:
    clock = FakeClock()
    release = asyncio.Event()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in range(2):
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
            await reader.readexactly(length)
            body = await unbroken
            writer.write(
                b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
            )
            writer.write(b"%x\r\n%s\r\n" % (len(body), body))
            await release.wait()
            writer.write(b"0\r\n\r\n")
        writer.close()

    unbroken = asyncio.ensure_future(asker.unbroken())
    await unbroken
    async with asker.scene(middleware={"clock": clock}) as scene:
        server = await asyncio.start_server(handle, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1/chat/completions"
        async with scene.session.post(url, json={"stream": True, "messages": []}) as response:
            await response.content.readuntil(b"[DONE]\n\n")
        assert acquired(scene) == 1
        release.set()
        await until(lambda: acquired(scene) == 0)
        async with scene.session.post(url, json={"stream": True, "messages": []}) as response:
            await response.read()
        server.close()
        assert [outcome.kind for outcome in scene.runs] == ["complete", "complete"]


async def test_a_reset_behind_the_terminal_event_is_nobody_s_business(asker: Asker) -> None:
    async with asker.scene([Fault.reset()]) as scene:
        got = await scene.turn()
    assert got.ended
    assert scene.runs[0].kind == "complete"
    assert len(scene.requests) == 1


async def test_a_stale_connection_costs_no_recovery(asker: Asker) -> None:
    never = AT_ONCE.replace(max_recoveries=0)
    async with asker.scene(policy=never, server={"connections": "stale"}) as scene:
        await scene.read()
        assert (await scene.turn()).ended
        assert scene.runs[1].attempts == 2


async def _in_the_second_attempt(scene: Scene) -> aiohttp.ClientResponse:
    response: aiohttp.ClientResponse = await scene.post()
    await until(lambda: len(scene.requests) == 2 and scene.requests[1].sent)
    return response


SECOND_STALLS = [Fault.reset(after_events=12), Fault.stall(after_events=20)]


@pytest.mark.parametrize("how", ["close", "release", "leave"])
async def test_leaving_in_the_second_attempt_closes_it(asker: Asker, how: str) -> None:
    async with asker.scene(SECOND_STALLS, policy=AT_ONCE) as scene:
        response = await _in_the_second_attempt(scene)
        if how == "close":
            response.close()
        elif how == "release":
            response.release()
        else:
            async with response:
                pass
        await scene.requests[1].over()
        assert scene.requests[1].client_left_at is not None
        assert acquired(scene) == 0
        assert scene.runs[0].kind == "cancelled"


@pytest.mark.parametrize("how", ["close", "release", "leave"])
async def test_leaving_in_the_first_attempt_closes_it(asker: Asker, how: str) -> None:
    async with asker.scene([Fault.stall(after_events=12)]) as scene:
        response = await scene.post()
        await response.content.readany()
        if how == "close":
            response.close()
        elif how == "release":
            response.release()
        else:
            async with response:
                pass
        await scene.requests[0].over()
        assert acquired(scene) == 0
        assert (len(scene.requests), scene.runs[0].kind) == (1, "cancelled")


@pytest.mark.parametrize("script", [[Fault.stall(after_events=12)], SECOND_STALLS])
async def test_cancelling_the_reader_closes_upstream(asker: Asker, script: list[Fault]) -> None:
    async with asker.scene(script, policy=AT_ONCE) as scene:
        reading = asyncio.create_task(scene.read())
        await until(lambda: len(scene.requests) == len(script) and scene.requests[-1].sent)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        await scene.requests[-1].over()
        assert acquired(scene) == 0
        assert scene.runs[0].kind == "cancelled"


async def test_cancelling_while_it_backs_off_leaves_nothing_behind(asker: Asker) -> None:
    clock = FakeClock()
    script = [Fault.in_band_error(529, after_events=12)]
    async with asker.scene(script, middleware={"clock": clock}) as scene:
        reading = asyncio.create_task(scene.read())
        await until(lambda: scene.requests and scene.requests[0].finished)
        await turns_of_the_loop()
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        await turns_of_the_loop()
        assert (clock.pending, acquired(scene), len(scene.requests)) == ((), 0, 1)


async def test_cancelling_before_the_response_ends_the_run(asker: Asker) -> None:
    async with asker.scene([Fault.no_response(Fault.stall().ending)]) as scene:
        asking = asyncio.create_task(scene.read())
        await until(lambda: scene.requests)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert (acquired(scene), scene.runs[0].kind) == (0, "cancelled")


async def test_a_response_that_is_dropped_in_a_recovery_closes_upstream(asker: Asker) -> None:
    async with asker.scene(SECOND_STALLS, policy=AT_ONCE) as scene:
        dropped = weakref.ref(await _in_the_second_attempt(scene))
        await turns_of_the_loop()
        gc.collect()
        assert dropped() is None
        await scene.requests[1].over()
        await until(lambda: acquired(scene) == 0)
        assert scene.runs[0].kind == "cancelled"


async def test_a_session_that_closes_ends_a_waiting_reader(asker: Asker) -> None:
    """Stock aiohttp leaves such a reader waiting for ever."""
    async with asker.scene([Fault.stall(after_events=12)], policy=AT_ONCE) as scene:
        reading = asyncio.create_task(scene.read())
        await until(lambda: scene.requests and scene.requests[0].sent)
        await scene.session.close()
        with pytest.raises(aiohttp.ClientPayloadError) as raised:
            await reading
    assert isinstance(raised.value, StreamCutError)


@pytest.mark.parametrize("script", [[], [Fault.reset(after_events=12)]])
async def test_a_slow_reader_holds_the_provider_back(asker: Asker, script: list[Fault]) -> None:
    async with (
        asker.scene(script, model=LONG, policy=AT_ONCE, read_bufsize=4096) as scene,
        scene.post() as response,
    ):
        content: Any = response.content
        await until(lambda: content._protocol._reading_paused)
        await turns_of_the_loop(500)
        held = content._size
        got = bytes(await response.read())
    assert held < 300_000
    assert len(got) > 500_000
    assert scene.runs[0].kind == ("recovered" if script else "complete")


async def test_a_reader_that_pauses_for_minutes_is_no_stall(asker: Asker) -> None:
    clock = FakeClock()
    async with (
        asker.scene(model=LONG, middleware={"clock": clock}, read_bufsize=4096) as scene,
        scene.post() as response,
    ):
        content: Any = response.content
        await until(lambda: content._protocol._reading_paused)
        await clock.advance(300.0)
        await response.read()
    assert (scene.runs[0].kind, len(scene.requests)) == ("complete", 1)
