"""`wrap` gives the same client back over another transport, and leaves the one it was given alone."""

from __future__ import annotations

import gc
from typing import Any

import anthropic
import httpx2
import openai
import pytest

import httpx
import seamstream
from seamstream.httpx import RecoveryTransport, SyncRecoveryTransport
from seamstream.testing import Fault, FaultServer
from tests.httpx.asking import AT_ONCE, SPOKEN
from tests.httpx.sdk_reading import read_chat_async

KINDS = [openai.OpenAI, openai.AsyncOpenAI, anthropic.Anthropic, anthropic.AsyncAnthropic]
URL = "http://127.0.0.1:9/base"


def made(kind: Any, **options: Any) -> Any:
    return kind(api_key="key", base_url=URL, timeout=7.0, default_headers={"x-mine": "1"}, **options)


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_class_with_the_same_settings_comes_back(kind: Any) -> None:
    client = made(kind, max_retries=5)
    transport = client._client._transport
    wrapped = seamstream.wrap(client)
    assert type(wrapped) is kind
    assert (wrapped.base_url, wrapped.api_key, wrapped.timeout) == (client.base_url, "key", 7.0)
    assert wrapped.default_headers["x-mine"] == "1"
    assert (wrapped.max_retries, client.max_retries) == (0, 5)
    assert isinstance(wrapped._client._transport, RecoveryTransport | SyncRecoveryTransport)
    assert client._client._transport is transport
    assert wrapped._client._transport._inner is transport


@pytest.mark.parametrize("kind", KINDS)
def test_proxies_recover_too(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "example.org")
    client = made(kind)
    wrapped = seamstream.wrap(client)
    mounts, before = wrapped._client._mounts, client._client._mounts
    assert list(mounts) == list(before)
    assert any(transport is None for transport in before.values())
    for pattern, transport in before.items():
        assert (mounts[pattern]._inner if transport is not None else mounts[pattern]) is transport


async def test_a_legacy_httpx_client_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    async with FaultServer(SPOKEN, [Fault.fin(after_events=6)]) as server:
        http_client: Any = httpx.AsyncClient()
        client = openai.AsyncOpenAI(api_key="k", base_url=f"{server.url}/v1", http_client=http_client)
        async with seamstream.wrap(client, AT_ONCE) as wrapped:
            read = await read_chat_async(wrapped)
    assert read.stop == "stop"
    assert len(server.requests) == 2


async def test_wrapping_a_client_that_nobody_else_keeps_leaves_it_open() -> None:
    async with FaultServer(SPOKEN, [Fault.fin(after_events=6)]) as server:
        wrapped = seamstream.wrap(openai.AsyncOpenAI(api_key="k", base_url=f"{server.url}/v1"), AT_ONCE)
        gc.collect()
        async with wrapped:
            assert (await read_chat_async(wrapped)).stop == "stop"


async def test_dropping_the_wrapped_client_leaves_the_original_open() -> None:
    async with FaultServer(SPOKEN) as server:
        client = openai.AsyncOpenAI(api_key="k", base_url=f"{server.url}/v1")
        async with client:
            await read_chat_async(client)
            seamstream.wrap(client, AT_ONCE)
            gc.collect()
            await read_chat_async(client)
        assert len({exchange.connection for exchange in server.requests}) == 1


def test_a_client_over_aiohttp_is_told_what_to_do() -> None:
    client = openai.AsyncOpenAI(api_key="k", http_client=openai.DefaultAioHttpClient())
    with pytest.raises(seamstream.ConfigurationError, match=r"middlewares=\(seamstream.RecoveryMiddleware"):
        seamstream.wrap(client)


def test_wrapping_twice_is_refused() -> None:
    with pytest.raises(seamstream.ConfigurationError, match="wrapped already"):
        seamstream.wrap(seamstream.wrap(made(openai.OpenAI)))


def test_what_is_no_sdk_client_is_refused() -> None:
    with pytest.raises(seamstream.ConfigurationError, match="cannot wrap Client"):
        seamstream.wrap(httpx2.Client())


def test_a_store_needs_an_async_client() -> None:
    store = seamstream.InMemoryStreamCheckpointStore()
    with pytest.raises(seamstream.ConfigurationError, match="async"):
        seamstream.wrap(made(openai.OpenAI), store=store)
