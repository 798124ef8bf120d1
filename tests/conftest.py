"""Which event loops a test runs on: both where sockets are, so that nothing rests on one loop's habits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import uvloop

from seamstream.driver.spec import PROCESS_PROFILES

ON_BOTH_LOOPS = {"middleware", "stream"}


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    """asyncio's own loop, and uvloop for the folders above."""
    factories: dict[str, Callable[[], Any]] = {"asyncio": asyncio.new_event_loop}
    if item.path.parent.name in ON_BOTH_LOOPS:
        factories["uvloop"] = uvloop.new_event_loop
    return factories


@pytest.fixture(autouse=True)
def nothing_learnt() -> Iterator[None]:
    """What one test's servers taught this process about their host must not reach the next one's."""
    yield
    PROCESS_PROFILES.forget()
