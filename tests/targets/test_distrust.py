"""A target whose streams seem to break though nothing visibly broke is only observed from then on."""

from __future__ import annotations

import asyncio

import aiohttp

from seamstream import ProfileBook, RecoveryMiddleware, RecoveryPolicy
from seamstream.observe import Notice, RunEvent
from seamstream.recovery.retry_budget import HEALTH_SHARE, HEALTH_STREAMS
from seamstream.testing import Fault, FaultServer
from tests.targets.asking import MODEL, QUESTION

BROKEN = int(HEALTH_SHARE * HEALTH_STREAMS) + 1
AT_ONCE = 20


class Notices:
    """A sink that keeps what is noticed, and the modes of runs."""

    def __init__(self) -> None:
        self.notices: list[Notice] = []
        self.modes: list[str] = []

    def record(self, record: RunEvent | Notice) -> None:
        if isinstance(record, Notice):
            self.notices.append(record)
        elif record.state_to.final:
            self.modes.append(record.mode)


async def test_it_falls_to_observe_and_says_so_once() -> None:
    sink = Notices()
    script = [Fault.clean_end(after_events=9)] * BROKEN
    policy = RecoveryPolicy(max_recoveries=0)
    layer = RecoveryMiddleware(policy, sinks=[sink], profiles=ProfileBook())
    async with (
        FaultServer(MODEL, script) as server,
        aiohttp.ClientSession(middlewares=(layer,), connector=aiohttp.TCPConnector(limit=AT_ONCE)) as session,
    ):

        async def ask() -> None:
            try:
                async with session.post(server.url_for("openai-chat"), json=QUESTION) as response:
                    await response.read()
            except aiohttp.ClientPayloadError:
                pass

        await asyncio.gather(*(ask() for _ in range(HEALTH_STREAMS)))
        assert set(sink.modes) == {"recover"}
        assert sink.notices == []
        await ask()
        await ask()
        target = server.url
    assert sink.modes[-2:] == ["observe", "observe"]
    (notice,) = [notice for notice in sink.notices if notice.kind == "target_distrusted"]
    assert notice.target == target
    assert f"{BROKEN} of {HEALTH_STREAMS} streams" in notice.detail
