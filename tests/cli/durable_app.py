"""An application as `--app` takes it. It prints what it hears from the model, so that a test can wait."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import ClientSession
from cryptography.fernet import Fernet

from seamstream.stores.backend import Backend
from seamstream.tasks import Agent, ModelTarget
from seamstream.types import Event
from tests.tasks.service import booking_tool


def agent(store: Backend) -> Agent:
    """The plain form: an agent is an async context manager itself."""
    target = ModelTarget(os.environ["TEST_MODEL_URL"], {"model": "test-model"})
    tools = [booking_tool(os.environ["TEST_SERVICE_URL"])]
    return Agent(target, tools, store, on_event=heard)


@asynccontextmanager
async def with_session(store: Backend) -> AsyncIterator[Agent]:
    """The other form: whatever the agent needs is opened around it."""
    async with ClientSession() as session:
        target = ModelTarget(os.environ["TEST_MODEL_URL"], {"model": "test-model"})
        tools = [booking_tool(os.environ["TEST_SERVICE_URL"])]
        async with Agent(target, tools, store, session=session, on_event=heard) as made:
            yield made


def cipher() -> Fernet:
    """What encrypts the store, as `--cipher` takes it."""
    return Fernet(os.environ["TEST_KEY"])


def nothing(store: Backend) -> None:
    """No agent at all."""


def broken(store: Backend) -> Agent:
    raise RuntimeError("the factory broke")


@asynccontextmanager
async def opens_another(store: Backend) -> AsyncIterator[str]:
    yield "no agent"


@asynccontextmanager
async def breaks_inside(store: Backend) -> AsyncIterator[Agent]:
    raise KeyError("TEST")
    yield


def heard(event: Event) -> None:
    print(type(event).__name__, flush=True)
