"""Event loops to run the network tests on, and one answer for all of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
import uvloop

from seamstream.testing import Answer, DeterministicModel, Text, Tool, tokens

Run = Callable[[Coroutine[Any, Any, Any]], Any]


@pytest.fixture(params=["asyncio", "uvloop"])
def run(request: pytest.FixtureRequest) -> Run:
    """Runs a coroutine on a loop of its own, in debug mode."""
    factory = uvloop.new_event_loop if request.param == "uvloop" else asyncio.new_event_loop

    def runner(work: Coroutine[Any, Any, Any]) -> Any:
        with asyncio.Runner(loop_factory=factory, debug=True) as loop:
            return loop.run(work)

    return runner


@pytest.fixture
def model() -> DeterministicModel:
    text = Text(tokens("Reefs grow where warm, clear water meets the light — slowly, 🐠 and for ever."))
    return DeterministicModel(Answer((text, Tool("depth", ('{"metres":', " 12}")))))
