"""Runs whose events are logged: what is asked, a process that can be killed, what a reader has in the end."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

import aiohttp

import seamstream
from seamstream import (
    BackendCheckpointStore,
    BackoffPolicy,
    Event,
    ProfileBook,
    RecoveryPolicy,
    Run,
    StreamReset,
    TextDelta,
    ToolCallReady,
)
from seamstream.clock import SystemClock
from seamstream.stores import Backend, open_store
from seamstream.testing import Answer, DeterministicModel, Fault, FaultServer, Text, Tool, tokens
from tests.house.imports import ROOT

QUESTION: dict[str, Any] = {
    "model": "m",
    "max_tokens": 4000,
    "messages": [{"role": "user", "content": "Where is north?"}],
}
TEXT = "North is where the shadows of noon point to, at least up here — 北 — and moss has no opinion on it."
LOOK = Tool("look", ('{"where":', ' "no', 'rth"}'))
AT_ONCE = RecoveryPolicy(backoff=BackoffPolicy(first_s=0.0, max_s=0.0))
PATIENCE_S = 30.0


class Scene:
    """A provider, a session, and a store of a tenant of its own."""

    def __init__(self, server: FaultServer, session: aiohttp.ClientSession, backend: Backend) -> None:
        self.server = server
        self.session = session
        self.backend = backend
        self.tenant = SystemClock().uuid()
        self.url = server.url_for("anthropic")

    def store(self, **options: Any) -> BackendCheckpointStore:
        return BackendCheckpointStore(self.backend, self.tenant, **options)

    def ask(self, **options: Any) -> Run:
        given = {"json": QUESTION, "profiles": ProfileBook(), "run_id": "r", "policy": AT_ONCE, **options}
        given = {"store": self.store(), "replayable": True, **given}
        return seamstream.stream(self.session, self.url, **given)

    def take_over(self, **options: Any) -> Any:
        given = {
            "store": self.store(),
            "headers": {},
            "policy": AT_ONCE,
            "profiles": ProfileBook(),
            **options,
        }
        return seamstream.take_over(self.session, self.url, run_id="r", **given)

    def replay(self, after: int = 0, **options: Any) -> AsyncIterator[Event]:
        return seamstream.replay(self.backend, self.tenant, "r", after=after, **options)

    async def replayed(self, after: int = 0) -> list[Event]:
        return [event async for event in self.replay(after)]


@asynccontextmanager
async def scene(url: str, script: Iterable[Fault] = ()) -> AsyncIterator[Scene]:
    model = DeterministicModel(Answer((Text(tokens(TEXT)), LOOK)))
    async with (
        asyncio.timeout(PATIENCE_S),
        FaultServer(model, list(script)) as server,
        aiohttp.ClientSession() as session,
        open_store(url) as backend,
    ):
        yield Scene(server, session, backend)


async def read(run: Any) -> tuple[Run, list[Event]]:
    async with run as entered:
        return entered, [event async for event in entered]


def said(events: Iterable[Event]) -> tuple[str, list[tuple[str, str]]]:
    """The text and the calls that a reader of these events has in the end."""
    text, calls = "", list[tuple[str, str]]()
    for event in events:
        if isinstance(event, StreamReset):
            text, calls = "", []
        elif isinstance(event, TextDelta):
            text += event.text
        elif isinstance(event, ToolCallReady):
            calls.append((event.name, event.arguments))
    return text, calls


WHOLE = (TEXT, [("look", '{"where": "north"}')])


@asynccontextmanager
async def writer(url: str, scene: Scene) -> AsyncIterator[asyncio.subprocess.Process]:
    """A process of its own that runs the answer; killed at the latest when the block is left."""
    command = [sys.executable, "-m", "tests.stores.writing_child", url, scene.tenant, "r", str(scene.url)]
    child = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE, cwd=ROOT)
    try:
        yield child
    finally:
        if child.returncode is None:
            child.kill()
        await child.wait()
