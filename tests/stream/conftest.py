"""A provider that breaks, a plain session, and the answer that most tests of this folder ask for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp
import pytest

import seamstream
from seamstream import Event, ProfileBook, Run
from seamstream.testing import (
    Answer,
    DeterministicModel,
    Dialect,
    Exchange,
    Fault,
    FaultServer,
    Text,
    Tool,
    tokens,
)

QUESTION: dict[str, Any] = {
    "model": "m",
    "max_tokens": 4000,
    "messages": [{"role": "user", "content": "Where is north?"}],
}
TEXT = "North is where the shadows of noon point to, at least up here — 北 — and moss has no opinion on it."
LOOK = Tool("look", ('{"where":', ' "no', 'rth"}'))
PATIENCE_S = 20.0

Script = Sequence[Fault] | Callable[[Exchange], Fault]


@dataclass
class Place:
    """One server and one session without middleware."""

    server: FaultServer
    session: aiohttp.ClientSession
    dialect: Dialect

    def ask(self, **options: Any) -> Run:
        """A run that has not begun."""
        given = {"json": QUESTION, "profiles": ProfileBook(), **options}
        return seamstream.stream(self.session, self.server.url_for(self.dialect), **given)

    async def events(self, **options: Any) -> tuple[Run, list[Event]]:
        """A run that is over, and all its events."""
        async with self.ask(**options) as run:
            return run, [event async for event in run]

    @property
    def requests(self) -> list[Exchange]:
        return self.server.requests


Opener = Callable[..., Any]


@pytest.fixture
def answer() -> Answer:
    return Answer((Text(tokens(TEXT)), LOOK))


@pytest.fixture(params=["openai-chat", "anthropic"])
def dialect(request: pytest.FixtureRequest) -> Dialect:
    dialect: Dialect = request.param
    return dialect


@pytest.fixture
def place(answer: Answer, dialect: Dialect) -> Opener:
    @asynccontextmanager
    async def opened(
        script: Script = (),
        *,
        model: DeterministicModel | None = None,
        server: dict[str, Any] | None = None,
        **session: Any,
    ) -> AsyncIterator[Place]:
        async with (
            asyncio.timeout(PATIENCE_S),
            FaultServer(model or DeterministicModel(answer), script, **(server or {})) as provider,
            aiohttp.ClientSession(**session) as client,
        ):
            yield Place(provider, client, dialect)

    return opened
