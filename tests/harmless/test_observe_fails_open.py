"""In observe mode a core that breaks at any call, or panics, is noticed by nobody who reads."""

from __future__ import annotations

import asyncio
from typing import Any

import aiohttp
import pytest

import seamstream
from seamstream import Outcome, ProfileBook, RecoveryMiddleware, RecoveryPolicy
from seamstream.testing import Delivery, FaultServer
from tests.corpus import CorpusStream, by_name
from tests.harmless.fragile import break_at, panic_at
from tests.harmless.test_fail_open import MODULES
from tests.middleware.asking import until
from tests.support.provider import Responder

NAMES = ("chat_text_then_tool", "chat_azure_late_filters", "anthropic_pings", "anthropic_server_search")
STAND_INS = {"exception": break_at, "panic": panic_at}
CALLS = 24
WRITE_BYTES = 500


async def _observed(stream: CorpusStream, session: aiohttp.ClientSession, url: str) -> tuple[bytes, Outcome]:
    with seamstream.capture() as runs:
        async with session.post(url, json=stream.request) as response:
            data = await response.read()
        await until(lambda: runs)
    return data, runs[0]


@pytest.mark.parametrize("how", STAND_INS)
@pytest.mark.parametrize("name", NAMES)
async def test_a_core_that_breaks_is_not_noticed(
    name: str, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream, degraded = by_name(name), list[str | None]()
    observing = RecoveryMiddleware(RecoveryPolicy(mode="observe"), profiles=ProfileBook())
    async with (
        asyncio.timeout(20),
        FaultServer(Responder(stream), delivery=Delivery(write_bytes=WRITE_BYTES)) as server,
        aiohttp.ClientSession(middlewares=[observing]) as session,
    ):
        for number in range(CALLS):
            stand_in: Any = STAND_INS[how](number)
            for module in MODULES:
                monkeypatch.setattr(f"seamstream.driver.{module}.Splice", stand_in)
            data, outcome = await _observed(stream, session, server.url_for(stream.dialect))
            assert data == stream.data
            assert outcome.kind == "complete"
            degraded.append(outcome.degraded)
    assert any(degraded)
