"""A provider on a real socket that really breaks, by script, for every protocol that its table lists."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Literal

from aiohttp import web

from ..clock import Clock, SystemClock
from ..recovery.continuation.dialects import recognised
from ..recovery.continuation.facts import Dialect
from .exchange import Exchange
from .fault_replies import Responder, reply_under
from .faults import Fault, Framing
from .kept_responses import KeptResponses, Memory
from .local_server import LocalServer
from .model import Reply
from .sender import Delivery, Sender
from .wire import Wire, WrittenResponse

PATHS_OF_DIALECTS: dict[str, Dialect] = {
    "/v1/chat/completions": "openai-chat",
    "/v1/responses": "openai-responses",
    "/v1/messages": "anthropic",
    "/v1beta/models/test-model:streamGenerateContent?alt=sse": "gemini",
    "/api/chat": "ollama",
    "/v2/chat": "cohere",
    "/model/test-model/converse-stream": "bedrock",
    "/v1beta/interactions": "gemini-interactions",
}

Script = Sequence[Fault] | Callable[[Exchange], Fault]


class FaultServer:
    """An async context manager; inside it `url` is the base address and `requests` fills with what was asked.

    `script` gives each request its fault, in order, and healthy replies when it is used up; or it is a
    function of the request. How bytes are cut into socket writes is the `delivery`.
    """

    def __init__(
        self,
        model: Responder,
        script: Script = (),
        *,
        delivery: Delivery | None = None,
        framing: Framing = "chunked",
        connections: Literal["keep", "close", "stale"] = "keep",
        clock: Clock | None = None,
        background: KeptResponses | Memory = "streams",
    ) -> None:
        """`connections`: "stale" promises to keep the connection, and closes it on its second request.

        `background`: what is kept of responses that were asked to run in the background.
        """
        self._kept = background if isinstance(background, KeptResponses) else KeptResponses(background)
        self.requests: list[Exchange] = []
        self._model = model
        self._script = script
        self._delivery = delivery or Delivery()
        self._framing: Framing = framing
        self._clock = clock or SystemClock()
        self._policy = connections
        self._tasks: set[asyncio.Task[Any]] = set()
        self._closing = False
        self._answered = 0
        self._server = LocalServer(self._handle, handler_cancellation=True)

    async def __aenter__(self) -> FaultServer:
        await self._server.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing = True
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.stop()

    @property
    def url(self) -> str:
        return self._server.url

    def url_for(self, dialect: Dialect) -> str:
        """The address that a request of this dialect goes to."""
        return self.url + next(path for path, spoken in PATHS_OF_DIALECTS.items() if spoken == dialect)

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        task = asyncio.current_task()
        if task is not None:
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        exchange = await self._receive(request)
        try:
            return await self._answer(request, exchange)
        except (ConnectionError, asyncio.CancelledError) as error:
            if not self._closing and not exchange.finished:
                exchange.client_left_at = len(exchange.sent)
            if isinstance(error, asyncio.CancelledError):
                raise
            return WrittenResponse(reusable=False)
        finally:
            exchange.close(self._clock.monotonic())

    async def _receive(self, request: web.BaseRequest) -> Exchange:
        raw_body = await request.content.read()
        connection = request.transport.get_extra_info("peername")[1] if request.transport else 0
        headers = {name.lower(): value for name, value in request.headers.items()}
        body = json.loads(raw_body) if raw_body and headers.get("content-type", "").endswith("json") else None
        number = len(self.requests) + 1
        exchange = Exchange(
            number, connection, request.path, headers, raw_body, body, _dialect_of(request.path)
        )
        exchange.method, exchange.query = request.method, dict(request.query)
        exchange.arrived_s = self._clock.monotonic()
        self.requests.append(exchange)
        return exchange

    async def _answer(self, request: web.BaseRequest, exchange: Exchange) -> web.StreamResponse:
        if self._policy == "stale" and self._is_second_use(exchange):
            exchange.fault = Fault.no_response()
        else:
            exchange.fault = self._next_fault(exchange)
        reply = self._kept.reply(exchange)
        if reply is None or exchange.fault.http_status is not None:
            reply = reply_under(exchange.fault, self._model, exchange)
            self._kept.keep(exchange, reply, lambda: self._whole(exchange))
        wire = Wire(request, exchange.fault.framing or self._framing)
        sender = Sender(wire, exchange, self._delivery, self._clock, reusable=self._policy != "close")
        if exchange.fault.before_head:
            reusable = await sender.end(b"")
        else:
            reusable = await sender.send(reply)
        return WrittenResponse(reusable=reusable)

    def _whole(self, exchange: Exchange) -> Reply:
        """The answer as the provider has it when it is over."""
        if exchange.dialect is None:
            raise ValueError(f"{exchange.path} is no path of a dialect")
        return self._model.reply(exchange.dialect, {**(exchange.body or {}), "stream": False})

    def _is_second_use(self, exchange: Exchange) -> bool:
        return any(
            other.connection == exchange.connection for other in self.requests if other is not exchange
        )

    def _next_fault(self, exchange: Exchange) -> Fault:
        if callable(self._script):
            return self._script(exchange)
        self._answered += 1
        if self._answered <= len(self._script):
            return self._script[self._answered - 1]
        return Fault.none()


def _dialect_of(path: str) -> Dialect | None:
    """Gateways put prefixes of their own before a provider's path; a kept answer's name stands behind it."""
    form = recognised(path) or recognised(path.rpartition("/")[0])
    return form.name if form is not None else None
