# ruff: noqa: ARG002
"""A correlated outage: many open streams over four targets, one is killed and many connections of the others
are reset in the same moment. `make outage` prints what that does to the targets that still serve, with the
budget of recoveries and without it.

The streams are held half-way until all are open. Readers of the targets that go on ask for something longer
as soon as they have their answer, so that those targets keep their normal load; readers of the killed one
want the answer that they were reading.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
from dataclasses import dataclass, replace
from pathlib import Path

import aiohttp

from bench.paced_server import LONG, PacedServer
from seamstream import BackoffPolicy, Fallback, ProfileBook, RecoveryMiddleware, RecoveryPolicy
from seamstream.recovery.breaker import Breaker
from seamstream.recovery.retry_budget import RetryBudget, TargetBudget
from seamstream.testing import Answer, DeterministicModel, Text, read_turn

TARGETS = 4
LIMIT = 1.1
RESULT = Path(__file__).resolve().parent.parent / "docs" / "outage.md"
TEXT = "Harbours that keep one gate open when three are shut do not drown in the ships that come about."
PIECES = tuple(TEXT[at : at + 16] for at in range(0, len(TEXT), 16))
MODEL = DeterministicModel(Answer((Text(PIECES),)))
ASK = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "How do harbours last?"}]}
PATIENCE_S = 120.0


@dataclass(frozen=True)
class Size:
    """How much of it. `resets` are spread over the targets that go on."""

    streams: int = 1000
    resets: int = 300
    pace_s: float = 0.3


@dataclass
class Result:
    """`load` is the most that one of the other targets served at once, over what is normal for it; `rush` the
    most requests that one of them got within a second.
    """

    load: float
    rush: int
    whole: int
    streams: int
    seconds: float


class _NeverOpens(Breaker):
    def allows(self, now: float) -> bool:
        return True

    def admit(self, now: float) -> bool:
        return True


class _Unlimited(TargetBudget):
    def __init__(self) -> None:
        super().__init__(ratio=1.0, min_concurrency=1)
        self.breaker = _NeverOpens()

    def try_acquire(self, *, guest: bool = False) -> bool:
        return True

    def has_room(self, *, guest: bool = False) -> bool:
        return True

    def release(self, *, guest: bool = False) -> None:
        return

    def spread_s(self, now: float, random: float) -> float:
        return 0.0


class NoBudget(RetryBudget):
    """Every recovery goes at once."""

    def target(self, name: str) -> TargetBudget:
        return self._targets.setdefault(name, _Unlimited())


class Outage:
    """One run of it."""

    def __init__(self, size: Size, budget: RetryBudget) -> None:
        self._size = size
        self._budget = budget
        self._gate = asyncio.Event()
        self._servers = [PacedServer(MODEL, pace_s=size.pace_s, gate=self._gate) for _ in range(TARGETS)]
        self._whole = 0

    async def play(self) -> Result:
        await asyncio.gather(*(server.start() for server in self._servers))
        timeout = aiohttp.ClientTimeout(total=None)
        connector = aiohttp.TCPConnector(limit=0)
        try:
            async with (
                asyncio.timeout(PATIENCE_S),
                aiohttp.ClientSession(timeout=timeout, connector=connector) as session,
            ):
                return await self._strike(session)
        finally:
            await asyncio.gather(*(server.stop() for server in self._servers))

    async def _strike(self, session: aiohttp.ClientSession) -> Result:
        first, again = list[asyncio.Task[None]](), set[asyncio.Task[None]]()
        layers = self._layers()
        for number in range(self._size.streams):
            home, layer = number % TARGETS, next(layers[number % TARGETS])
            first.append(asyncio.create_task(self._first(session, home, layer, again)))
        normal = self._size.streams // TARGETS
        while not all(server.all_held(normal) for server in self._servers):  # noqa: ASYNC110
            await asyncio.sleep(0.05)
        others, begun = self._servers[1:], asyncio.get_running_loop().time()
        for server in others:
            server.peak = 0
            server.arrivals.clear()
        await self._servers[0].kill()
        for server in others:
            server.reset(self._size.resets // len(others))
        self._gate.set()
        await asyncio.gather(*first)
        seconds = asyncio.get_running_loop().time() - begun
        for task in again:
            task.cancel()
        await asyncio.gather(*again, return_exceptions=True)
        rush = max(_rush(server.arrivals) for server in others)
        load = max(server.peak for server in others) / normal
        return Result(load, rush, self._whole, self._size.streams, seconds)

    def _layers(self) -> list[itertools.cycle[RecoveryMiddleware]]:
        """Of each target's readers a third has each other target as its first fallback."""
        return [
            itertools.cycle([self._layer([(home + 1 + (turn + step) % 3) % TARGETS for step in range(3)])
                             for turn in range(3)])
            for home in range(TARGETS)
        ]  # fmt: skip

    def _layer(self, order: list[int]) -> RecoveryMiddleware:
        fallbacks = tuple(Fallback(self._servers[number].url, spare=False) for number in order)
        # An echo comes at the pace of the answer here, so the seam may take longer to decide.
        pauses = BackoffPolicy(0.1, 2.0, 1.0)
        policy = RecoveryPolicy(fallbacks=fallbacks, backoff=pauses, max_recoveries=6, hold_seam_s=10.0)
        layer = RecoveryMiddleware(policy, profiles=ProfileBook())
        services = replace(layer._surface.services, budget=self._budget)
        layer._services = layer._surface.services = services
        return layer

    async def _first(
        self,
        session: aiohttp.ClientSession,
        home: int,
        layer: RecoveryMiddleware,
        again: set[asyncio.Task[None]],
    ) -> None:
        whole = await self._ask(session, home, layer)
        self._whole += whole
        if home != 0:
            again.add(asyncio.create_task(self._go_on(session, home, layer)))

    async def _go_on(self, session: aiohttp.ClientSession, home: int, layer: RecoveryMiddleware) -> None:
        while True:
            await self._ask(session, home, layer, user=LONG)

    async def _ask(
        self, session: aiohttp.ClientSession, home: int, layer: RecoveryMiddleware, user: str = ""
    ) -> bool:
        url, asked = self._servers[home].url, ASK | {"user": user}
        try:
            async with session.post(url, json=asked, middlewares=(layer,)) as response:
                return read_turn("openai-chat", await response.read()).text == TEXT
        except (aiohttp.ClientError, TimeoutError):
            return False


def _rush(arrivals: list[float]) -> int:
    """The most requests within one second."""
    most, first = 0, 0
    for last, at in enumerate(arrivals):
        while arrivals[first] <= at - 1.0:
            first += 1
        most = max(most, last - first + 1)
    return most


def table(size: Size, bounded: Result, unbounded: Result) -> str:
    rows = {
        "most answers that one of the others served at once, of its normal": [
            f"{result.load:.2f}x" for result in (bounded, unbounded)
        ],
        "most requests that one of the others got within a second": [
            str(result.rush) for result in (bounded, unbounded)
        ],
        "answers that arrived whole": [f"{r.whole} of {r.streams}" for r in (bounded, unbounded)],
        "seconds until the last of them": [f"{result.seconds:.1f}" for result in (bounded, unbounded)],
    }
    return "\n".join([
        f"{size.streams} open streams over {TARGETS} targets; one target is killed, and {size.resets}",
        "connections to the others are reset, at once.",
        "",
        "| | with the budget | without |",
        "|---|---|---|",
        *(f"| {what} | {with_it} | {without} |" for what, (with_it, without) in rows.items()),
        "",
    ])  # fmt: skip


async def compare(size: Size) -> tuple[Result, Result]:
    """The same outage with the budget and without it."""
    return await Outage(size, RetryBudget()).play(), await Outage(size, NoBudget()).play()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streams", type=int, default=Size.streams)
    parser.add_argument("--resets", type=int, default=Size.resets)
    parser.add_argument("--write", action="store_true", help=f"into {RESULT.name}")
    given = parser.parse_args()
    size = Size(given.streams, given.resets)
    said = table(size, *asyncio.run(compare(size)))
    print(said)
    if given.write:
        RESULT.write_text("# A correlated outage\n\nWritten by `make outage`.\n\n" + said)


if __name__ == "__main__":
    main()
