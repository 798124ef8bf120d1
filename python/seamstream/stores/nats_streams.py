"""What the NATS backend is built from: values of any size under subjects, and publishing that compares.

JetStream compares the sequence of a subject's last message when it takes the next one; that is the only
atomic step here, and all others are made of it. A message's first byte says what it holds: a value, the list
of a value's chunks, or the mark of a deletion.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ..clock import Clock
from ..errors import ConfigurationError, StoreError
from .extras import load_driver

if TYPE_CHECKING:
    from nats.aio.client import Client
    from nats.js.client import JetStreamContext

CHUNK_BYTES: Final = 524_288
"""Larger values are cut: a server takes messages up to 1 MB unless it is told otherwise."""
POLL_S: Final = 0.5
"""How often those who wait look by themselves: nobody tells that a lease or a mark has expired."""
TOMBSTONE_S: Final = 60.0
CONNECT_S: Final = 5.0
ANSWER_S: Final = 3.0
"""How long a call may wait for the server; while it is away, each fails after that."""
RECORDS: Final = "records"
LOGS: Final = "logs"
LIVES: Final = "lives"
CHUNKS: Final = "chunks"
WORK: Final = "work"
LEASES: Final = "leases"
_ONE_EACH: Final = frozenset({RECORDS, LIVES, CHUNKS, WORK, LEASES})
_FIRST_WITH_TTL: Final = (2, 11)
_WRONG_LAST_SEQUENCE: Final = frozenset({10071, 10164})
_VALUE, _CHUNKED, _DELETED = b"v", b"c", b"d"


@dataclass(frozen=True, slots=True)
class Found:
    """The last message of a subject, or the next of several. `value` is None for the mark of a deletion."""

    subject: str
    seq: int
    value: bytes | None
    chunks: str | None = None
    """Where the value's chunks are."""


class Streams:
    """One connection and the six streams of a backend."""

    def __init__(self, url: str, *, prefix: str, replicas: int, clock: Clock) -> None:
        self._nats = load_driver("nats", "nats")
        self._js_errors = load_driver("nats.js.errors", "nats")
        self._errors = (self._nats.errors.Error, OSError, TimeoutError)
        self._url, self._prefix, self._replicas = url, prefix, replicas
        self._clock = clock
        self.client: Client | None = None
        self._js: JetStreamContext | None = None

    async def open(self) -> None:
        """Connect and make the streams; a server without per-message TTL is a ConfigurationError."""
        try:
            async with asyncio.timeout(CONNECT_S):  # the client itself would try for ever
                self.client = await self._nats.connect(
                    self._url,
                    connect_timeout=int(CONNECT_S),
                    allow_reconnect=True,
                    max_reconnect_attempts=-1,
                    reconnect_time_wait=0.2,
                    error_cb=_ignore,
                )
            version = self.client.connected_server_version
            if (version.major, version.minor) < _FIRST_WITH_TTL:
                raise ConfigurationError(
                    f"this NATS server is {version.major}.{version.minor}, and leases and records that"
                    " expire need one that knows a time to live of each message: 2.11 or newer"
                )
            self._js = self.client.jetstream(timeout=ANSWER_S)
            for name in (RECORDS, LOGS, LIVES, CHUNKS, WORK, LEASES):
                await self._js.add_stream(self._config(name))
        except self._errors as error:
            raise StoreError(f"NATS cannot be reached: {error}") from error

    async def aclose(self) -> None:
        if self.client is not None:
            await self.client.close()

    def stream(self, kind: str) -> str:
        return f"{self._prefix}-{kind}"

    def subject(self, kind: str, *tokens: str) -> str:
        """A subject of that stream; empty tokens are left out."""
        return ".".join((self._prefix, kind, *filter(None, tokens)))

    async def last(self, kind: str, subject: str) -> Found | None:
        """The last message of a subject."""
        return await self._get(kind, None, subject, following=False)

    async def next(self, kind: str, subject: str, seq: int) -> Found | None:
        """The first message with that sequence or a greater one; the subject may be a pattern."""
        return await self._get(kind, seq, subject, following=True)

    async def subjects(self, kind: str, pattern: str) -> list[str]:
        """All subjects of a pattern that hold a message."""
        info = await self._ask(self._context().stream_info(self.stream(kind), subjects_filter=pattern))
        return sorted(info.state.subjects or {})

    async def publish(
        self,
        subject: str,
        value: bytes | None,
        *,
        expected: int,
        ttl_s: float | None = None,
        chunks_under: str = "",
    ) -> int | None:
        """Publish a value (None: the mark of a deletion) and return its sequence; None if `expected` is not
        the sequence of the subject's last message. Chunks get a name that begins with `chunks_under`.
        """
        payload = _DELETED if value is None else _VALUE + value
        chunks = None
        if value is not None and len(value) > CHUNK_BYTES:
            chunks, payload = await self._put_chunks(value, ttl_s, chunks_under)
        headers = {"Nats-Expected-Last-Subject-Sequence": str(expected)}
        ttl = None if ttl_s is None else max(1, math.ceil(ttl_s))
        try:
            ack = await self._context().publish(subject, payload, headers=headers, msg_ttl=ttl)
        except self._js_errors.APIError as error:
            if error.err_code not in _WRONG_LAST_SEQUENCE:
                raise StoreError(f"NATS failed: {error}") from error
            if chunks is not None:
                await self.drop_chunks(chunks)
            return None
        except self._errors as error:
            raise StoreError(f"NATS failed: {error}") from error
        return ack.seq

    async def purge(self, kind: str, subject: str, *, upto: int | None = None) -> None:
        """Delete the messages of a subject, with `upto` those that have no greater sequence."""
        seq = None if upto is None else upto + 1
        await self._ask(self._context().purge_stream(self.stream(kind), subject=subject, seq=seq))

    async def drop_chunks(self, chunks: str) -> None:
        """Delete a value's chunks, or those of several if the name is a pattern."""
        await self.purge(CHUNKS, self.subject(CHUNKS, chunks, "*"))

    @asynccontextmanager
    async def told(self, *subjects: str, wanted: bool = True) -> AsyncIterator[asyncio.Event]:
        """An event that is set by every message that is published there."""
        told = asyncio.Event()

        async def tell(_message: Any) -> None:
            told.set()

        names = subjects if wanted else ()
        subscriptions = [await self._ask(self._connected().subscribe(name, cb=tell)) for name in names]
        try:
            yield told
        finally:
            for subscription in subscriptions:
                with suppress(Exception):  # the connection may be gone, and the subscription with it
                    await subscription.unsubscribe()

    async def tell(self, subject: str) -> None:
        """Wake those who are told of that subject."""
        await self._ask(self._connected().publish(subject))

    async def wait(self, told: asyncio.Event, at_most_s: float) -> None:
        """Wait to be told, but not for ever."""
        with suppress(TimeoutError):
            async with asyncio.timeout(at_most_s):
                await told.wait()

    async def _put_chunks(self, value: bytes, ttl_s: float | None, under: str) -> tuple[str, bytes]:
        """Chunks go first, under a name of their own: a reader of the list finds them all."""
        name, count = ".".join(filter(None, (under, self._clock.uuid()))), 0
        ttl = None if ttl_s is None else max(1, math.ceil(ttl_s)) + int(TOMBSTONE_S)
        for start in range(0, len(value), CHUNK_BYTES):
            subject = self.subject(CHUNKS, name, str(count))
            await self._ask(
                self._context().publish(subject, value[start : start + CHUNK_BYTES], msg_ttl=ttl, headers={})
            )
            count += 1
        return name, _CHUNKED + json.dumps([name, count]).encode()

    async def _get(self, kind: str, seq: int | None, subject: str, *, following: bool) -> Found | None:
        while True:
            try:
                message = await self._context().get_msg(
                    self.stream(kind), seq=seq, subject=subject, next=following
                )
            except self._js_errors.NotFoundError:
                return None
            except self._errors as error:
                raise StoreError(f"NATS failed: {error}") from error
            data = message.data or b""
            if data[:1] != _CHUNKED:
                value = None if data == _DELETED else data[1:]
                return Found(str(message.subject), int(message.seq or 0), value)
            name, count = json.loads(data[1:])
            whole = await self._chunks(name, count)
            if whole is not None:
                return Found(str(message.subject), int(message.seq or 0), whole, name)
            # The value was replaced while we read it: look again.

    async def _chunks(self, name: str, count: int) -> bytes | None:
        pieces = []
        for number in range(count):
            try:
                message = await self._context().get_msg(
                    self.stream(CHUNKS), subject=self.subject(CHUNKS, name, str(number))
                )
            except self._js_errors.NotFoundError:
                return None
            except self._errors as error:
                raise StoreError(f"NATS failed: {error}") from error
            pieces.append(message.data or b"")
        return b"".join(pieces)

    def _config(self, name: str) -> Any:
        return self._nats.js.api.StreamConfig(
            name=self.stream(name),
            subjects=[f"{self._prefix}.{name}.>"],
            max_msgs_per_subject=1 if name in _ONE_EACH else -1,
            num_replicas=self._replicas,
            allow_msg_ttl=True,
        )

    def _connected(self) -> Client:
        if self.client is None:
            raise StoreError("the store is not open")
        return self.client

    def _context(self) -> JetStreamContext:
        if self._js is None:
            raise StoreError("the store is not open")
        return self._js

    async def _ask(self, question: Any) -> Any:
        try:
            return await question
        except self._errors as error:
            raise StoreError(f"NATS failed: {error}") from error


async def _ignore(_error: Exception) -> None:
    """A lost connection is told by the calls that fail; the client prints it otherwise."""
