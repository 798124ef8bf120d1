"""Readers who leave, who share a client, or who keep checkpoints."""

from __future__ import annotations

import asyncio
from typing import Any, get_args

import boto3
import pytest
from aiobotocore.config import AioConfig
from aiobotocore.httpxsession import HttpxSession
from aiobotocore.session import get_session

import seamstream
from seamstream import StreamCheckpoint
from seamstream.errors import ConfigurationError
from seamstream.stores.memory import InMemoryStreamCheckpointStore
from seamstream.testing import Exchange, Fault, FaultServer
from tests.bedrock.clients import AT_ONCE, KEY, REGION, SECRET, Kind, ask, client_of, read
from tests.bedrock.test_clients import MODEL, SAID
from tests.middleware.asking import until

KINDS = get_args(Kind)
MODES = ("recover", "observe")
STREAMS = 6


def _cut_once(exchange: Exchange) -> Fault:
    """Each answer breaks at a place of its own, and no continuation does."""
    first = len(exchange.body["messages"]) == 1
    return Fault.reset(after_events=6 + exchange.number % 5) if first else Fault.none()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mode", MODES)
async def test_leaving_early_ends_the_request(kind: Kind, mode: Any) -> None:
    stalled = [Fault.stall(after_events=6)]
    async with (
        asyncio.timeout(20),
        FaultServer(MODEL, stalled) as server,
        client_of(kind, server.url, policy=AT_ONCE.replace(mode=mode)) as client,
    ):
        with seamstream.capture() as outcomes:
            got = await ask(kind, client, until="contentBlockDelta")
        assert (got.error, got.events[-1]) == (None, "contentBlockDelta")
        await server.requests[0].over()
        assert server.requests[0].client_left_at == len(server.requests[0].sent)
        assert len(server.requests) == 1
    assert [outcome.kind for outcome in outcomes] == ["cancelled"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mode", MODES)
async def test_who_leaves_at_the_stop_has_the_whole_answer(kind: Kind, mode: Any) -> None:
    policy = AT_ONCE.replace(mode=mode)
    async with FaultServer(MODEL) as server, client_of(kind, server.url, policy=policy) as client:
        with seamstream.capture() as outcomes:
            got = await ask(kind, client, until="messageStop")
    assert (got.error, got.text) == (None, SAID)
    assert [outcome.kind for outcome in outcomes] == ["complete"]


@pytest.mark.parametrize("kind", KINDS)
async def test_streams_of_one_client_do_not_meet(kind: Kind) -> None:
    async with FaultServer(MODEL, _cut_once) as server, client_of(kind, server.url) as client:
        with seamstream.capture() as outcomes:
            answers = await asyncio.gather(*(ask(kind, client) for _ in range(STREAMS)))
        assert len(server.requests) == 2 * STREAMS
    assert [(got.error, got.text) for got in answers] == [(None, SAID)] * STREAMS
    assert {outcome.attempts for outcome in outcomes} == {2}
    assert len({got.headers["x-seamstream-run-id"] for got in answers}) == STREAMS


class CountingStore(InMemoryStreamCheckpointStore):
    """Knows how often a checkpoint was put."""

    puts = 0

    async def put(self, checkpoint: StreamCheckpoint) -> None:
        self.puts += 1
        await super().put(checkpoint)


async def test_a_checkpoint_is_kept_while_the_answer_comes_and_no_longer() -> None:
    store = CountingStore()
    async with FaultServer(MODEL, [Fault.reset(after_events=9)]) as server:
        got = await read("aiobotocore", server.url, store=store)
        assert (got.error, got.text) == (None, SAID)
        await until(lambda: len(store) == 0)
    assert store.puts > 0


def test_only_clients_of_bedrock_are_wrapped() -> None:
    settings = {"region_name": REGION, "aws_access_key_id": KEY, "aws_secret_access_key": SECRET}
    with pytest.raises(ConfigurationError, match="a client of s3"):
        seamstream.wrap(boto3.client("s3", **settings))


async def test_a_client_over_httpx_is_refused() -> None:
    config = AioConfig(http_session_cls=HttpxSession)
    settings = {"region_name": REGION, "aws_access_key_id": KEY, "aws_secret_access_key": SECRET}
    async with get_session().create_client("bedrock-runtime", config=config, **settings) as client:
        with pytest.raises(ConfigurationError, match="only those over aiohttp"):
            seamstream.wrap(client)
