"""Plays one scene: an unbroken fetch to compare with, then the same request through faults and recovery."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import aiohttp

from seamstream import BackoffPolicy, RecoveryMiddleware, RecoveryPolicy, StreamCutError, stream
from seamstream.clock import SystemClock
from seamstream.testing import Delivery, DeterministicModel, FaultServer, ReadTurn, read_turn

from .demo_judge import Verdict, judge
from .demo_scenes import Scene
from .demo_view import ShownBytes, ShownEvents, Watcher, show_calls
from .screen import Screen

# Short timers, so that a stall is noticed while somebody watches.
POLICY = RecoveryPolicy(
    idle_s=0.5, quiet_s=0.5, first_content_s=5.0, backoff=BackoffPolicy(first_s=0.2, max_s=0.4)
)
# Who only watches, or has recovery off, would wait for ever where a stream stalls.
_PATIENCE = aiohttp.ClientTimeout(total=10.0)


@dataclass(frozen=True, slots=True)
class Played:
    """A scene that has been played: what its run reported, and how it was judged."""

    scene: Scene
    watcher: Watcher
    verdict: Verdict


async def play(scene: Scene, screen: Screen, *, pause_s: float) -> Played:
    """Play `scene` with `pause_s` between the events of its stream."""
    model = DeterministicModel(scene.answer, scene.persona)
    async with FaultServer(model) as server:
        unbroken = await _fetch_unbroken(server.url_for(scene.dialect), scene)
    screen.line()
    screen.line(f"{scene.title} ({scene.dialect}, read as {scene.reader})", "bold")
    watcher = Watcher(screen, SystemClock(), marks=scene.reader == "bytes")
    read = _read_events if scene.reader == "events" else _read_bytes
    async with FaultServer(model, scene.script, delivery=Delivery(pause_s=pause_s)) as server:
        got, error = await read(server.url_for(scene.dialect), scene, screen, watcher)
    watcher.delay.content()
    show_calls(screen, got)
    if error is not None:
        screen.paragraph(f"{type(error).__name__}: {error}", "mark")
    verdict = judge(scene, unbroken, got, error, server.requests)
    for fault in verdict.faults:
        screen.line(f"not kept: {fault}", "bad")
    return Played(scene, watcher, verdict)


async def _fetch_unbroken(url: str, scene: Scene) -> ReadTurn:
    async with aiohttp.ClientSession() as session, session.post(url, json=_request(scene)) as response:
        return read_turn(scene.dialect, await response.read())


async def _read_bytes(
    url: str, scene: Scene, screen: Screen, watcher: Watcher
) -> tuple[ReadTurn, Exception | None]:
    """The provider's own protocol, by a plain aiohttp session with the middleware in it."""
    shown = ShownBytes(screen, scene.dialect, watcher.delay)
    middleware = RecoveryMiddleware(POLICY, sinks=[watcher])
    async with aiohttp.ClientSession(middlewares=[middleware], timeout=_PATIENCE) as session:
        try:
            async with session.post(url, json=_request(scene)) as response:
                async for data in response.content.iter_any():
                    shown.feed(data)
        except (aiohttp.ClientError, TimeoutError) as error:
            return shown.turn, error
    return shown.turn, None


async def _read_events(
    url: str, scene: Scene, screen: Screen, watcher: Watcher
) -> tuple[ReadTurn, Exception | None]:
    """seamstream's own events."""
    shown = ShownEvents(screen, watcher.delay)
    async with aiohttp.ClientSession(timeout=_PATIENCE) as session:
        run = stream(session, url, json=_request(scene), policy=POLICY, sinks=[watcher])
        try:
            async with run:
                async for event in run:
                    shown.feed(event)
        except StreamCutError as error:
            return shown.turn(error.turn) if error.turn else ReadTurn(), error
        return shown.turn(run.turn), None


def _request(scene: Scene) -> dict[str, Any]:
    """What a program would ask; nothing in it knows of recovery."""
    question = {"role": "user", "content": f"The question of scene {scene.title!r}."}
    return {"model": "demo", "max_tokens": 500, "stream": True, "messages": [question]}
