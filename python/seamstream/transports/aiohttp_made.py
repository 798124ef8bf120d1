# ruff: noqa: SLF001
"""An answer that we give ourselves, for a request that its provider would misunderstand.

aiohttp has no public way of making a response. What this needs beyond the constructor is the two places where
aiohttp's own parser puts the headers; a test reads such a response under the oldest and the newest aiohttp.
"""

from __future__ import annotations

import asyncio
import inspect
from types import SimpleNamespace
from typing import Any

from aiohttp import ClientRequest, ClientResponse, StreamReader
from aiohttp.base_protocol import BaseProtocol
from aiohttp.helpers import TimerNoop
from multidict import CIMultiDict, CIMultiDictProxy


def made_response(request: ClientRequest, status: int, body: bytes) -> ClientResponse:
    """A JSON answer to `request` that no server has given."""
    loop = asyncio.get_running_loop()
    facts: dict[str, Any] = {
        "writer": None,
        "continue100": None,
        "timer": TimerNoop(),
        "request_info": request.request_info,
        "traces": [],
        "loop": loop,
        "session": request.session,
        "stream_writer": SimpleNamespace(output_size=0),
    }
    known = inspect.signature(ClientResponse.__init__).parameters
    response = ClientResponse(
        request.method, request.url, **{name: fact for name, fact in facts.items() if name in known}
    )
    reader = StreamReader(BaseProtocol(loop), limit=2**16, loop=loop)
    reader.feed_data(body)
    reader.feed_eof()
    headers = CIMultiDict({"Content-Type": "application/json", "Content-Length": str(len(body))})
    response.status, response.reason, response.content = status, "Bad Request", reader
    response._headers = CIMultiDictProxy(headers)
    response._raw_headers = tuple((name.encode(), value.encode()) for name, value in headers.items())
    return response
