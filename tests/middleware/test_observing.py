"""Mode observe: the same bytes and the same exceptions as without us, and a record of what would have been
done.
"""

from __future__ import annotations

import asyncio
from typing import Any

import aiohttp
import pytest

from seamstream import RecoveryPolicy
from seamstream.observe import Notice, RunEvent
from seamstream.testing import Dialect, Ending, FakeClock, Fault
from tests.middleware.asking import DIALECTS, Asker, Scene, read_on, turns_of_the_loop, until
from tests.middleware.test_healing import BROKEN

OBSERVE = RecoveryPolicy(mode="observe")
ALSO = {
    "healthy": Fault.none(),
    "rst behind the end": Fault.reset(),
    "429": Fault.http_error(429, {"retry-after": "0"}),
    "503": Fault.http_error(503),
    "html": Fault.html(),
    "no response": Fault.no_response(),
    "no response, rst": Fault.no_response(Ending.RESET),
    "error then done": Fault.error_then_done(after_events=12),
}
FAULTS = {**{name: fault for name, (fault, _) in BROKEN.items()}, **ALSO}
HANGS_IN_STOCK = "malformed chunk size"


class Records:
    """A sink."""

    def __init__(self) -> None:
        self.events: list[RunEvent] = []
        self.notices: list[Notice] = []

    def record(self, record: RunEvent | Notice) -> None:
        (self.events if isinstance(record, RunEvent) else self.notices).append(record)  # type: ignore[arg-type]


async def _what_it_is_like(scene: Scene) -> tuple[Any, ...]:
    """Everything that a caller can tell about one answer."""
    chunks: list[bytes] = []
    try:
        async with scene.post() as response:
            async for chunk in response.content.iter_any():
                chunks.append(chunk)
    except (TimeoutError, aiohttp.ClientError) as error:
        return b"".join(chunks), type(error), type(error.__cause__)
    headers = {k: v for k, v in response.headers.items() if k not in ("x-seamstream-run-id", "Date")}
    return b"".join(chunks), response.status, headers, response.closed


@pytest.mark.parametrize("name", [name for name in FAULTS if name != HANGS_IN_STOCK])
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_an_observed_answer_is_the_stock_one(asker: Asker, dialect: Dialect, name: str) -> None:
    script = [FAULTS[name]]
    async with (
        asker.scene(script, dialect=dialect, policy=OBSERVE) as ours,
        asker.scene(script, dialect=dialect, stock=True) as stock,
    ):
        assert await _what_it_is_like(ours) == await _what_it_is_like(stock)
        assert len(ours.requests) == len(stock.requests)


@pytest.mark.parametrize("name", [name for name in BROKEN if name != HANGS_IN_STOCK])
async def test_what_would_have_been_done_is_on_record(asker: Asker, name: str) -> None:
    fault, cause = BROKEN[name]
    sink = Records()
    async with asker.scene([fault], policy=OBSERVE, middleware={"sinks": [sink]}) as scene:
        await _what_it_is_like(scene)
        await until(lambda: scene.runs)
    assert scene.runs[0].causes == (cause,)
    assert scene.runs[0].kind == "truncated"
    (cut,) = [event for event in sink.events if event.cause is not None]
    assert (cut.plan, cut.mode, len(scene.requests)) == ("R1", "observe", 1)


async def test_a_healthy_answer_is_recorded_as_complete(asker: Asker) -> None:
    async with asker.scene(policy=OBSERVE) as scene:
        assert await scene.read() == await asker.unbroken()
    assert [outcome.kind for outcome in scene.runs] == ["complete"]


async def test_a_stall_is_only_told(asker: Asker) -> None:
    clock, sink, chunks = FakeClock(), Records(), list[bytes]()
    ours = {"clock": clock, "sinks": [sink]}
    async with asker.scene([Fault.stall(after_events=12)], policy=OBSERVE, middleware=ours) as scene:
        reading = asyncio.create_task(read_on(scene, chunks))
        await until(lambda: b"".join(chunks).count(b"data:") >= 12)
        await turns_of_the_loop()
        await clock.advance(31.0)
        assert [notice.kind for notice in sink.notices] == ["stall_warning"]
        await clock.advance(100.0)
        assert scene.runs[0].causes == ("IdleStall",)
        assert not reading.done()
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        await scene.requests[0].over()
    assert len(scene.runs) == 1


async def test_leaving_an_observed_answer_is_leaving_a_stock_one(asker: Asker) -> None:
    async with asker.scene([Fault.stall(after_events=12)], policy=OBSERVE) as scene:
        async with scene.post() as response:
            await response.content.readany()
        await scene.requests[0].over()
    assert [outcome.kind for outcome in scene.runs] == ["cancelled"]


async def test_observed_answers_share_one_connection(asker: Asker) -> None:
    async with asker.scene(policy=OBSERVE) as scene:
        for _ in range(3):
            await scene.read()
        assert len({exchange.connection for exchange in scene.requests}) == 1


async def test_only_a_sample_is_looked_at(asker: Asker) -> None:
    """The draw is the clock's; the rest of the runs is off."""
    clock = FakeClock(seed=3)
    some = RecoveryPolicy(mode="observe", sample=0.3)
    async with asker.scene(policy=some, middleware={"clock": clock}) as scene:
        for _ in range(40):
            await scene.read()
    assert 0 < len(scene.runs) < 30
