"""One budget over all layers: SDKs that keep their own retries on do not multiply the requests."""

from __future__ import annotations

import asyncio
from typing import Any

import anthropic
import httpx2
import openai
import pytest

from seamstream.httpx import RecoveryTransport, SyncRecoveryTransport
from seamstream.testing import Dialect, Fault, FaultServer
from tests.httpx.asking import AT_ONCE, SPOKEN, Style
from tests.httpx.sdk_reading import MESSAGES

AT_MOST = 1 + AT_ONCE.max_recoveries
FINAL = {
    "408": (Fault.http_error(408), AT_MOST),
    "409": (Fault.http_error(409), AT_MOST),
    "429": (Fault.http_error(429, {"retry-after": "0"}), AT_MOST),
    "429 in milliseconds": (Fault.http_error(429, {"retry-after-ms": "1"}), AT_MOST),
    "500": (Fault.http_error(500), AT_MOST),
    "503 that wants a retry": (Fault.http_error(503, {"x-should-retry": "true"}), AT_MOST),
    "529": (Fault.http_error(529), AT_MOST),
    "503 that wants none": (Fault.http_error(503, {"x-should-retry": "false"}), 1),
    "400": (Fault.http_error(400), 1),
    "401": (Fault.http_error(401), 1),
    "404": (Fault.http_error(404), 1),
}


def client(dialect: Dialect, style: Style, url: str) -> Any:
    """With the retries that it comes with."""
    sdk: Any = openai if dialect == "openai-chat" else anthropic
    base = f"{url}/v1" if dialect == "openai-chat" else url
    if style == "sync":
        sync = SyncRecoveryTransport(httpx2.HTTPTransport(), AT_ONCE)
        kind = sdk.OpenAI if dialect == "openai-chat" else sdk.Anthropic
        return kind(api_key="k", base_url=base, http_client=httpx2.Client(transport=sync))
    kind = sdk.AsyncOpenAI if dialect == "openai-chat" else sdk.AsyncAnthropic
    http = httpx2.AsyncClient(transport=RecoveryTransport(policy=AT_ONCE))
    return kind(api_key="k", base_url=base, http_client=http)


async def ask(dialect: Dialect, style: Style, url: str) -> None:
    asking = client(dialect, style, url)
    assert asking.max_retries == 2
    call = asking.chat.completions.create if dialect == "openai-chat" else asking.messages.create
    fields: dict[str, Any] = {"model": "m", "max_tokens": 99, "messages": MESSAGES, "stream": True}
    if style == "async":
        async with asking:
            await call(**fields)
        return
    with asking:
        await asyncio.to_thread(lambda: call(**fields))


@pytest.mark.parametrize("style", ["async", "sync"])
@pytest.mark.parametrize("dialect", ["openai-chat", "anthropic"])
@pytest.mark.parametrize("name", FINAL)
async def test_the_requests_stay_within_our_budget(dialect: Dialect, style: Style, name: str) -> None:
    fault, requests = FINAL[name]
    async with FaultServer(SPOKEN, lambda _: fault) as server:
        with pytest.raises((openai.APIStatusError, anthropic.APIStatusError)) as caught:
            await ask(dialect, style, server.url)
        assert caught.value.status_code == fault.http_status
        assert caught.value.response.headers["x-should-retry"] == "false"
        assert len(server.requests) == requests
