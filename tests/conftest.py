"""Which event loops a test runs on: both where sockets are, so that nothing rests on one loop's habits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
import uvloop

ON_BOTH_LOOPS = {"middleware", "stream"}


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    """asyncio's own loop, and uvloop for the folders above."""
    factories: dict[str, Callable[[], Any]] = {"asyncio": asyncio.new_event_loop}
    if item.path.parent.name in ON_BOTH_LOOPS:
        factories["uvloop"] = uvloop.new_event_loop
    return factories
