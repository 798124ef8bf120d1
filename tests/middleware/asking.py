"""A provider that breaks, a session with the middleware, and what its reader got."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp

import seamstream
from seamstream import Outcome, ProfileBook, RecoveryMiddleware, RecoveryPolicy
from seamstream.testing import (
    Delivery,
    DeterministicModel,
    Dialect,
    Exchange,
    Fault,
    FaultServer,
    ReadTurn,
    read_turn,
)

DIALECTS: tuple[Dialect, ...] = ("openai-chat", "anthropic")
QUESTION: dict[str, Any] = {
    "model": "m",
    "stream": True,
    "max_tokens": 4000,
    "messages": [{"role": "user", "content": "What is a reef?"}],
}
PATIENCE_S = 20.0
"""A test that is still waiting after this has failed; nothing waits for it to pass."""

Script = Sequence[Fault] | Callable[[Exchange], Fault]


@dataclass
class Scene:
    """One server and one session; `runs` fills with outcomes."""

    server: FaultServer
    session: aiohttp.ClientSession
    runs: list[Outcome] = field(default_factory=list)
    dialect: Dialect = "openai-chat"

    @property
    def url(self) -> str:
        return self.server.url_for(self.dialect)

    def post(self, **options: Any) -> Any:
        """The request, ready to be entered."""
        return self.session.post(self.url, **{"json": QUESTION, **options})

    async def read(self, **options: Any) -> bytes:
        """The whole body of one answer."""
        async with self.post(**options) as response:
            return bytes(await response.read())

    async def turn(self, **options: Any) -> ReadTurn:
        return read_turn(self.dialect, await self.read(**options))

    @property
    def requests(self) -> list[Exchange]:
        return self.server.requests


class Asker:
    """Opens scenes that all have the same model behind them."""

    def __init__(self, model: DeterministicModel) -> None:
        self.model = model

    @asynccontextmanager
    async def scene(
        self,
        script: Script = (),
        *,
        dialect: Dialect = "openai-chat",
        policy: RecoveryPolicy | None = None,
        model: DeterministicModel | None = None,
        middleware: dict[str, Any] | None = None,
        stock: bool = False,
        server: dict[str, Any] | None = None,
        **session: Any,
    ) -> AsyncIterator[Scene]:
        """A scene with the middleware, or with `stock` without it."""
        ours = RecoveryMiddleware(policy, **{"profiles": ProfileBook(), **(middleware or {})})
        layers = () if stock else (ours,)
        async with (
            asyncio.timeout(PATIENCE_S),
            FaultServer(model or self.model, script, **(server or {})) as fault_server,
            aiohttp.ClientSession(middlewares=layers, **session) as client,
        ):
            with seamstream.capture() as runs:
                yield Scene(fault_server, client, runs, dialect)

    async def unbroken(self, dialect: Dialect = "openai-chat") -> bytes:
        """The same answer from a provider that does not break, without us."""
        async with self.scene(dialect=dialect, stock=True) as scene:
            return await scene.read()

    async def unbroken_turn(self, dialect: Dialect = "openai-chat") -> ReadTurn:
        return read_turn(dialect, await self.unbroken(dialect))


async def read_on(scene: Scene, chunks: list[bytes], **options: Any) -> None:
    """Read one answer into `chunks` as it comes."""
    async with scene.post(**options) as response:
        async for chunk in response.content.iter_any():
            chunks.append(chunk)


async def turns_of_the_loop(count: int = 50) -> None:
    """Let everything that can run do so; reading from a socket takes a few turns."""
    for _ in range(count):
        await asyncio.sleep(0)


async def until(condition: Callable[[], object]) -> None:
    """Wait for something that is sure to happen; a test's patience ends it if it does not."""
    while not condition():  # noqa: ASYNC110  (it is about the other side of a socket)
        await asyncio.sleep(0)


__all__ = ["DIALECTS", "QUESTION", "Asker", "Delivery", "Scene", "read_on", "turns_of_the_loop", "until"]
