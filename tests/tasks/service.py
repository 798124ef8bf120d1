"""A service with side effects, as a real HTTP server: it counts what it did and may lose its answer.

It does a key's booking once at most, says whether it did, and a key that was cancelled is refused for ever.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from aiohttp import ClientSession, web

from seamstream.tasks import Executed, NotExecuted, Tool, ToolContext, tool
from seamstream.testing.local_server import LocalServer


@dataclass
class Service:
    """`loses` names calls, by their number from 1, whose answer is never sent although they were done."""

    loses: set[int] = field(default_factory=set)
    calls: list[tuple[str, str]] = field(default_factory=list)
    """All requests: what was asked, and the key."""
    booked: dict[str, str] = field(default_factory=dict)
    cancelled: set[str] = field(default_factory=set)
    repeated: list[str] = field(default_factory=list)
    """Keys that were asked for twice: an effect that would have happened twice without the key."""

    async def __aenter__(self) -> Service:
        self._server = LocalServer(self._handle, handler_cancellation=True)
        await self._server.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._server.stop()

    @property
    def url(self) -> str:
        return self._server.url

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        action, key = request.path.strip("/"), request.query["key"]
        self.calls.append((action, key))
        if action == "book":
            return self._book(request, key)
        if action == "cancel":
            self.cancelled.add(key)
            self.booked.pop(key, None)
            return web.json_response({})
        done = self.booked.get(key)
        return web.json_response({"booked": done, "cancelled": key in self.cancelled})

    def _book(self, request: web.BaseRequest, key: str) -> web.StreamResponse:
        if key in self.cancelled:
            return web.json_response({"error": "the key was cancelled"}, status=409)
        if key in self.booked:
            self.repeated.append(key)
        self.booked[key] = request.query["hotel"]
        number = sum(action == "book" for action, _ in self.calls)
        if number in self.loses and request.transport is not None:
            request.transport.abort()
        return web.json_response({"booked": request.query["hotel"]})


def booking_tool(url: str, **options: Any) -> Tool:
    """The tool that books with the service; `query` and `compensate` are there unless `options` say other."""

    async def post(action: str, key: str, **query: str) -> dict[str, Any]:
        async with (
            ClientSession() as session,
            session.post(f"{url}/{action}", params={"key": key, **query}) as response,
        ):
            response.raise_for_status()
            found: dict[str, Any] = await response.json()
            return found

    async def book(context: ToolContext, hotel: str) -> dict[str, Any]:
        """Book a room."""
        return await post("book", context.idempotency_key, hotel=hotel)

    async def find(context: ToolContext, hotel: str) -> Executed | NotExecuted:
        found = await post("find", context.idempotency_key)
        if found["booked"]:
            return Executed({"booked": found["booked"]})
        return NotExecuted(final=found["cancelled"])

    async def cancel(context: ToolContext, hotel: str) -> None:
        await post("cancel", context.idempotency_key)

    known: dict[str, Any] = {"side_effect": "compensatable", "query": find, "compensate": cancel}
    made: Tool = tool(**{**known, **options})(book)
    return made
