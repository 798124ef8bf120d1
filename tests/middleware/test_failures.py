"""When it fails for good the reader gets what it knows: the provider's words, or an exception of aiohttp's
own kind.
"""

from __future__ import annotations

import asyncio
import json

import aiohttp
import pytest

from seamstream import RecoveryPolicy, StreamCutError
from seamstream.testing import (
    Answer,
    DeterministicModel,
    Dialect,
    Fault,
    Text,
    differences,
    read_turn,
    tokens,
)
from tests.middleware.asking import DIALECTS, QUESTION, Asker, Scene
from tests.middleware.test_healing import AT_ONCE

NO_RECOVERY = RecoveryPolicy(max_recoveries=0)


async def _received_and_error(scene: Scene) -> tuple[bytes, BaseException]:
    """What a reader that begins late gets: everything that was received, and then the error."""
    received = b""
    async with scene.post() as response:
        for _ in range(200):
            await asyncio.sleep(0)
        try:
            async for chunk in response.content.iter_any():
                received += chunk
        except aiohttp.ClientPayloadError as error:
            return received, error
    raise AssertionError("the stream ended well")


@pytest.mark.parametrize("fault", [Fault.reset(after_events=12), Fault.clean_end(after_events=12)])
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_what_was_received_comes_before_the_error(asker: Asker, dialect: Dialect, fault: Fault) -> None:
    """A clean end without the dialect's proof raises too: a truncated answer never looks like a good one."""
    async with asker.scene([fault], dialect=dialect, policy=NO_RECOVERY) as scene:
        received, error = await _received_and_error(scene)
        sent = bytes(scene.requests[0].sent)
    assert received == sent
    assert isinstance(error, StreamCutError)
    assert error.turn is not None
    assert error.turn.text == read_turn(dialect, sent).text != ""
    assert (error.run_id, error.code) == (scene.runs[0].run_id, "budget_exhausted")
    assert (scene.runs[0].kind, scene.runs[0].attempts) == ("truncated", 1)


async def test_the_error_shown_is_the_cut_and_what_failed_later_is_its_cause(asker: Asker) -> None:
    async with asker.scene([Fault.reset(after_events=12), Fault.http_error(401)], policy=AT_ONCE) as scene:
        with pytest.raises(StreamCutError) as raised:
            await scene.read()
    assert str(raised.value.cause) == "ConnectionReset"
    assert raised.value.code == "permanent_error"
    assert getattr(raised.value.__cause__, "status", None) == 401


async def test_a_cut_alone_carries_the_transport_s_own_error(asker: Asker) -> None:
    async with asker.scene([Fault.reset(after_events=12)], policy=NO_RECOVERY) as scene:
        with pytest.raises(StreamCutError) as raised:
            await scene.read()
    assert isinstance(raised.value.__cause__, aiohttp.ClientPayloadError)


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_the_provider_s_error_event_comes_as_it_was_sent(asker: Asker, dialect: Dialect) -> None:
    fault = Fault.in_band_error(529, after_events=12)
    async with asker.scene([fault], dialect=dialect, policy=NO_RECOVERY) as scene:
        received = await scene.read()
    assert received == bytes(scene.requests[0].sent)
    assert read_turn(dialect, received).error is not None
    assert scene.runs[0].kind == "truncated"


async def test_a_permanent_error_in_the_stream_is_not_asked_again(asker: Asker) -> None:
    async with asker.scene([Fault.in_band_error(401, after_events=12)]) as scene:
        turn = await scene.turn()
    assert turn.error is not None
    assert len(scene.requests) == 1


@pytest.mark.parametrize("status", [429, 503, 529, 500])
async def test_failures_before_the_stream_are_tried_again(asker: Asker, status: int) -> None:
    expected = await asker.unbroken_turn()
    async with asker.scene([Fault.http_error(status, {"retry-after": "0"})], policy=AT_ONCE) as scene:
        assert differences(expected, await scene.turn()) == []
    assert (scene.runs[0].kind, scene.runs[0].attempts) == ("recovered", 2)
    assert scene.requests[1].body == scene.requests[0].body


async def test_the_last_http_failure_is_the_provider_s_own_response(asker: Asker) -> None:
    always = Fault.http_error(503, {"retry-after": "0"})
    async with asker.scene(lambda _: always, policy=AT_ONCE) as scene:
        async with scene.post() as response:
            assert response.status == 503
            assert response.headers["x-should-retry"] == "false"
            document = json.loads(await response.read())
        assert document["error"]["message"]
        assert len(scene.requests) == AT_ONCE.max_recoveries + 1
        assert scene.runs[0].kind == "failed"


@pytest.mark.parametrize("read", ["json", "text", "iterate"])
async def test_its_body_can_be_read_in_every_way(asker: Asker, read: str) -> None:
    async with (
        asker.scene([Fault.http_error(503)], policy=NO_RECOVERY) as scene,
        asker.scene([Fault.http_error(503)], stock=True) as stock,
    ):
        expected = await stock.read()
        async with scene.post() as response:
            if read == "json":
                got = json.dumps(await response.json()).encode()
                expected = json.dumps(json.loads(expected)).encode()
            elif read == "text":
                got = (await response.text()).encode()
            else:
                got = b"".join([chunk async for chunk in response.content.iter_chunked(7)])
    assert got == expected


async def test_a_permanent_http_failure_is_not_tried_again(asker: Asker) -> None:
    async with asker.scene([Fault.http_error(401)]) as scene, scene.post() as response:
        assert response.status == 401
        assert len(scene.requests) == 1


async def test_a_wait_above_the_limit_is_never_cut_short(asker: Asker) -> None:
    async with (
        asker.scene([Fault.http_error(429, {"retry-after": "600"})]) as scene,
        scene.post() as response,
    ):
        assert (response.status, len(scene.requests)) == (429, 1)


async def test_raise_for_status_sees_only_the_last_response(asker: Asker) -> None:
    always = Fault.http_error(503, {"retry-after": "0"})
    async with asker.scene([always], policy=AT_ONCE, raise_for_status=True) as scene:
        assert (await scene.turn()).ended
    async with asker.scene(lambda _: always, policy=AT_ONCE, raise_for_status=True) as scene:
        with pytest.raises(aiohttp.ClientResponseError) as raised:
            await scene.read()
    assert raised.value.status == 503


async def test_a_connection_that_is_refused_raises_aiohttp_s_own_error(asker: Asker) -> None:
    async with asker.scene(policy=AT_ONCE) as scene:
        server = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        server.close()
        await server.wait_closed()
        with pytest.raises(aiohttp.ClientConnectorError):
            await scene.session.post(f"http://127.0.0.1:{port}/v1/chat/completions", json=QUESTION)
    assert (scene.runs[0].kind, scene.runs[0].attempts) == ("failed", AT_ONCE.max_recoveries + 1)


async def test_a_prefill_that_is_refused_moves_on_and_costs_nothing(asker: Asker) -> None:
    one = AT_ONCE.replace(max_recoveries=1)
    model = DeterministicModel(asker.model.answer, accepts_prefill=False)
    expected = await asker.unbroken_turn("anthropic")
    scene_options = {"dialect": "anthropic", "model": model, "policy": one}
    cuts = [Fault.reset(after_events=12), Fault.none(), Fault.none(), Fault.reset(after_events=12)]
    async with asker.scene(cuts, **scene_options) as scene:
        assert differences(expected, await scene.turn()) == []
        assert [exchange.status for exchange in scene.requests] == [200, 400, 200]
        assert differences(expected, await scene.turn()) == []
        assert [exchange.status for exchange in scene.requests[3:]] == [200, 200]
    assert [outcome.joins for outcome in scene.runs] == [("anchored",)] * 2


@pytest.mark.parametrize("persona", ["paraphraser", "refuser"])
async def test_a_seam_that_does_not_fit_is_refused(asker: Asker, persona: str) -> None:
    words = Answer(
        (Text(tokens("The tide turns twice a day, and with it turns the trade of the whole coast. " * 4)),)
    )
    model = DeterministicModel(words, persona=persona)  # type: ignore[arg-type]
    async with asker.scene([Fault.reset(after_events=30)], model=model, policy=AT_ONCE) as scene:
        received, error = await _received_and_error(scene)
    assert (
        read_turn("openai-chat", received).text
        == read_turn("openai-chat", bytes(scene.requests[0].sent)).text
    )
    assert isinstance(error, StreamCutError)
    assert error.code == "seam_refused"


async def test_the_total_timeout_covers_all_attempts(asker: Asker) -> None:
    script = [Fault.reset(after_events=12), Fault.stall(after_events=15)]
    loop = asyncio.get_running_loop()
    async with asker.scene(script, policy=AT_ONCE) as scene:
        begun = loop.time()
        with pytest.raises(asyncio.TimeoutError) as raised:
            await scene.read(timeout=aiohttp.ClientTimeout(total=0.4))
        assert 0.3 < loop.time() - begun < 5.0
    assert not isinstance(raised.value, StreamCutError)
    assert len(scene.requests) == 2


async def test_sock_read_is_a_stall_like_any_other(asker: Asker) -> None:
    expected = await asker.unbroken_turn()
    async with asker.scene([Fault.stall(after_events=12)], policy=AT_ONCE) as scene:
        got = await scene.turn(timeout=aiohttp.ClientTimeout(sock_read=0.2))
    assert differences(expected, got) == []
    assert scene.runs[0].causes == ("IdleStall",)


async def test_allow_after_start_false_sends_nothing_after_content(asker: Asker) -> None:
    careful = RecoveryPolicy(allow_after_start=False)
    async with asker.scene([Fault.reset(after_events=12)], policy=careful) as scene:
        with pytest.raises(StreamCutError):
            await scene.read()
    assert len(scene.requests) == 1
