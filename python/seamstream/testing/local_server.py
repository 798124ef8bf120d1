"""An HTTP server on a free port of this machine that leaves no connection behind when it stops.

A client that gives up a request may connect again at that very moment. asyncio takes a connection in over
several turns of the loop and loses it when its server is closed meanwhile, so taking in ends first.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from typing import Final

from aiohttp import web

_TURNS_TO_COME_IN: Final = 10
_SHUTDOWN_S: Final = 1.0


class LocalServer:
    """Serves `handle` between `start` and `stop`."""

    def __init__(
        self,
        handle: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]],
        *,
        handler_cancellation: bool = False,
    ) -> None:
        server = web.Server(handle, handler_cancellation=handler_cancellation, access_log=None)
        self._runner = web.ServerRunner(server, shutdown_timeout=_SHUTDOWN_S)
        self._socket = socket.socket()

    async def start(self) -> None:
        self._socket.bind(("127.0.0.1", 0))
        await self._runner.setup()
        await web.SockSite(self._runner, self._socket).start()

    async def stop(self) -> None:
        """Take nobody in any more, wait for those who are half way in, and close all."""
        asyncio.get_running_loop().remove_reader(self._socket)
        for _ in range(_TURNS_TO_COME_IN):
            await asyncio.sleep(0)
        await self._runner.cleanup()

    @property
    def url(self) -> str:
        host, port = self._socket.getsockname()
        return f"http://{host}:{port}"
