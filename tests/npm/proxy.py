"""The smallest proxy that recovers: aiohttp's server, a session with the middleware, and bytes as they come.

It knows nothing of protocols, so whatever a reader behind it sees is the middleware's work.
"""

from __future__ import annotations

from typing import Final

import aiohttp
from aiohttp import web

from seamstream import ProfileBook, RecoveryMiddleware, RecoveryPolicy
from seamstream.testing.local_server import LocalServer

_OF_ONE_CONNECTION: Final = {"host", "connection", "content-length", "transfer-encoding", "accept-encoding"}


class RecoveringProxy:
    """An async context manager; inside it `url` stands for the upstream's address."""

    def __init__(self, upstream: str, policy: RecoveryPolicy) -> None:
        self._upstream = upstream
        self._middleware = RecoveryMiddleware(policy, profiles=ProfileBook())
        self._server = LocalServer(self._handle)

    async def __aenter__(self) -> RecoveringProxy:
        self._session = aiohttp.ClientSession(middlewares=[self._middleware])
        await self._server.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._server.stop()
        await self._session.close()

    @property
    def url(self) -> str:
        return self._server.url

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        headers = _end_to_end(request.headers)
        url = self._upstream + request.raw_path
        body = await request.read()
        async with self._session.request(request.method, url, data=body, headers=headers) as answer:
            response = web.StreamResponse(status=answer.status, headers=_end_to_end(answer.headers))
            await response.prepare(request)
            try:
                async for chunk in answer.content.iter_any():
                    await response.write(chunk)
            except aiohttp.ClientPayloadError:
                if request.transport is not None:
                    request.transport.abort()  # the reader must not take this for an end
                return response
            await response.write_eof()
            return response


def _end_to_end(headers: object) -> dict[str, str]:
    pairs = dict(headers)  # type: ignore[call-overload]
    return {name: value for name, value in pairs.items() if name.lower() not in _OF_ONE_CONNECTION}
