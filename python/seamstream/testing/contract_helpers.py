"""What the checks of the backend contract share: names, sizes, and waiting for a store's own clock."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from ..clock import SystemClock
from ..stores.backend import Backend, Key

Check = Callable[[Backend, Backend], Awaitable[None]]

LARGE_BYTES: Final = 3 * 1024 * 1024
RACES: Final = 1_000
SOON_S: Final = 0.3
TTL_S: Final = 1.0
LONG_S: Final = 30.0


def new_tenant() -> str:
    """A tenant that nobody else uses."""
    return f"contract-{SystemClock().uuid()}"


def large_value() -> bytes:
    """More than any store takes in one message, and not to be mistaken for a part of itself."""
    return (bytes(range(251)) * (LARGE_BYTES // 251 + 1))[:LARGE_BYTES]


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    """Look again until it holds: the store's clock is not ours to move."""
    async with asyncio.timeout(LONG_S):
        while not await holds():  # noqa: ASYNC110
            await asyncio.sleep(0.02)


async def is_gone(backend: Backend, tenant: str, key: Key) -> bool:
    return await backend.get(tenant, key) is None


async def is_empty(backend: Backend, tenant: str, log: Key) -> bool:
    return await backend.read(tenant, log) == []
