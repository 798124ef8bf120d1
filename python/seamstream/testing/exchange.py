"""What one request asked the server for and what it really got: the record that tests assert on."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

from ..recovery.continuation.facts import Dialect
from .faults import Fault


@dataclass(slots=True, eq=False)
class Exchange:
    """One request. `connection` is the client's port; `sent` is the body so far, before compression."""

    number: int
    connection: int
    path: str
    headers: dict[str, str]
    raw_body: bytes
    body: Any
    dialect: Dialect | None = None
    fault: Fault = field(default_factory=Fault.none)
    status: int | None = None
    response_headers: dict[str, str] = field(default_factory=dict)
    method: str = "POST"
    query: dict[str, str] = field(default_factory=dict)
    sent: bytearray = field(default_factory=bytearray)
    pings: int = 0
    finished: bool = False
    """The reply was sent, and ended, as the script says."""
    arrived_s: float = 0.0
    """When the request had been read, on the server's monotonic clock."""
    ended_s: float | None = None
    """When the reply ended or the connection was lost."""
    client_left_at: int | None = None
    """How many body bytes had been written when the client closed the connection before the reply's end."""
    _over: asyncio.Event = field(default_factory=asyncio.Event)

    async def over(self) -> None:
        """Wait until the server has nothing more to do for this request."""
        await self._over.wait()

    def close(self, now_s: float) -> None:
        """The server is done with it."""
        self.ended_s = now_s
        self._over.set()
