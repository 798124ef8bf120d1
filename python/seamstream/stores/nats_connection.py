"""One connection to NATS, its answers in time, and being told of what others publish."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Final, TypeVar

from ..errors import ConfigurationError, StoreError
from .extras import load_driver

if TYPE_CHECKING:
    from nats.aio.client import Client
    from nats.aio.msg import Msg
    from nats.js.client import JetStreamContext

T = TypeVar("T")

RECONNECT_S: Final = 2.0
"""How long a call waits for a connection that was lost."""
CLOSE_S: Final = 2.0
POLL_S: Final = 0.5
"""How often those who wait look by themselves: nobody tells that a lease or a mark has expired."""
_BAD_URL: Final = "invalid connect url"
"""What the driver says of one, in an error of no class of its own."""
_FIRST_WITH_TTL: Final = (2, 11)
_END_OF_BATCH, _NOTHING_FOUND = "204", "404"


class Connection:
    """A connection that comes back by itself. While it is lost, what was asked fails at once."""

    def __init__(self, url: str, timeout_s: float) -> None:
        self._nats = load_driver("nats", "nats")
        self._js_errors = load_driver("nats.js.errors", "nats")
        self._errors = (self._nats.errors.Error, OSError, TimeoutError)
        self._url, self._timeout_s = url, timeout_s
        self._client: Client | None = None
        self._js: JetStreamContext | None = None
        self._up = asyncio.Event()
        self._asking = set[asyncio.Timeout]()

    async def connect(self) -> None:
        """Connect; a server without per-message TTL is a ConfigurationError."""
        self._client = client = self._nats.aio.client.Client()
        try:
            await client.connect(
                self._url,
                connect_timeout=max(1, math.ceil(self._timeout_s)),
                max_reconnect_attempts=-1,
                reconnect_time_wait=0.2,
                error_cb=_ignore,
                disconnected_cb=self._lost,
                reconnected_cb=self._found,
            )
        except self._errors as error:
            if _BAD_URL in str(error):
                self._client = None  # it did not get as far as having something to close
                raise ConfigurationError("this is no URL of NATS servers") from None
            raise StoreError(f"NATS cannot be reached: {error!r}") from error
        self._up.set()
        version = client.connected_server_version
        if (version.major, version.minor) < _FIRST_WITH_TTL:
            raise ConfigurationError(
                f"this NATS server is {version.major}.{version.minor}, and leases and records that"
                " expire need one that knows a time to live of each message: 2.11 or newer"
            )
        self._js = client.jetstream(timeout=self._timeout_s)

    async def aclose(self) -> None:
        if self._client is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(CLOSE_S):
                    await self._client.close()

    @asynccontextmanager
    async def told(self, *subjects: str, wanted: bool = True) -> AsyncIterator[asyncio.Event]:
        """An event that is set by every message that is published there."""
        told = asyncio.Event()

        async def tell(_message: Msg) -> None:
            told.set()

        client = await self._online()
        names = subjects if wanted else ()
        subscriptions = [await client.subscribe(name, cb=tell) for name in names]
        try:
            yield told
        finally:
            for subscription in subscriptions:
                with suppress(Exception):  # the connection may be gone, and the subscription with it
                    await subscription.unsubscribe()

    async def tell(self, subject: str) -> None:
        """Wake those who are told of that subject."""
        await self._ask((await self._online()).publish(subject))

    async def wait(self, told: asyncio.Event, at_most_s: float) -> None:
        """Wait to be told, but not for ever."""
        with suppress(TimeoutError):
            async with asyncio.timeout(at_most_s):
                await told.wait()

    async def answers(self, subject: str, question: bytes) -> list[Msg]:
        """All answers to a question that has several, the last of which says that it is the last."""
        client = await self._online()
        found: list[Msg] = []
        ended = asyncio.Event()

        async def take(message: Msg) -> None:
            status = (message.headers or {}).get("Status")
            if status is None:
                found.append(message)
            else:
                found.extend([] if status in (_END_OF_BATCH, _NOTHING_FOUND) else [message])
                ended.set()

        inbox = client.new_inbox()
        subscription = await client.subscribe(inbox, cb=take)
        try:
            await client.publish(subject, question, reply=inbox)
            await self._ask(ended.wait())
        finally:
            with suppress(Exception):
                await subscription.unsubscribe()
        return found

    async def _ask(self, question: Awaitable[T]) -> T:
        """Await an answer, unless the connection is lost before. An APIError is for the caller to judge."""
        try:
            async with asyncio.timeout(None) as until_lost:
                self._asking.add(until_lost)
                try:
                    return await question
                finally:
                    self._asking.discard(until_lost)
        except self._js_errors.APIError:
            raise
        except self._errors as error:
            raise StoreError(f"NATS failed: {error!r}") from error

    async def _online(self) -> Client:
        """The client, when it is connected."""
        if self._client is None:
            raise StoreError("the store is not open")
        if not self._client.is_connected:
            with suppress(TimeoutError):
                async with asyncio.timeout(RECONNECT_S):
                    await self._up.wait()
        if not self._client.is_connected:
            raise StoreError("NATS failed: the connection is lost")
        return self._client

    async def _context(self) -> JetStreamContext:
        await self._online()
        if self._js is None:
            raise StoreError("the store is not open")
        return self._js

    async def _lost(self) -> None:
        """What was asked will not be answered any more."""
        self._up.clear()
        for until_lost in self._asking:
            until_lost.reschedule(asyncio.get_running_loop().time())

    async def _found(self) -> None:
        self._up.set()


async def _ignore(_error: Exception) -> None:
    """A lost connection is told by the calls that fail; the client prints it otherwise."""
