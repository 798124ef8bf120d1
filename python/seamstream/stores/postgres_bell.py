"""Wakes those who wait for something in PostgreSQL, by LISTEN on one connection of its own.

A notification can be lost with its connection, so every wait also ends by itself after a while, and whoever
waits looks at the tables anyway.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

POLL_S: Final = 1.0
"""The longest wait, if no notification comes."""


class Bell:
    """One listening connection for all who wait in this process; made when the first one does."""

    def __init__(self, connect: Callable[[], Awaitable[Any]], errors: tuple[type[Exception], ...]) -> None:
        self._connect = connect
        self._errors = errors
        self._connection: Any = None
        self._waiting: dict[str, set[asyncio.Event]] = defaultdict(set)
        self._lock = asyncio.Lock()

    @asynccontextmanager
    async def listening(self, name: str) -> AsyncIterator[asyncio.Event]:
        """An event that is set when that name is notified."""
        rung = asyncio.Event()
        self._waiting[name].add(rung)
        try:
            yield rung
        finally:
            self._waiting[name].discard(rung)
            if not self._waiting[name]:
                del self._waiting[name]

    async def wait(self, rung: asyncio.Event, at_most_s: float = POLL_S) -> None:
        """Wait for the notification, but not for ever, and not before the connection has been made: what was
        notified until then must be looked for.
        """
        if self._connection is None or self._connection.is_closed():
            await self._listen()
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(min(at_most_s, POLL_S)):
                await rung.wait()

    async def aclose(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(*self._errors):
                await connection.close()

    async def _listen(self) -> None:
        """A server that is away is no failure here: the next look at the tables will tell."""
        async with self._lock:
            if self._connection is not None and not self._connection.is_closed():
                return
            with suppress(*self._errors):
                self._connection = await self._connect()
                await self._connection.add_listener("seamstream", self._notified)

    def _notified(self, _connection: Any, _pid: int, _channel: str, name: str) -> None:
        for rung in self._waiting.get(name, ()):
            rung.set()
