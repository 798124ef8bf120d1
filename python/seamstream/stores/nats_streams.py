"""What the NATS backend is built from: values of any size under subjects, and publishing that compares.

JetStream compares the sequence of a subject's last message when it takes the next one; that is the only
atomic step here, and all others are made of it. A message's first byte says what it holds: a value, the list
of a value's chunks, or the mark of a deletion. A label in its headers says what its subject needs to know
without the value.
"""

from __future__ import annotations

import json
import math
from collections.abc import AsyncIterator, Awaitable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from ..clock import Clock
from ..errors import StoreError, StoreLimitError
from .nats_connection import Connection

T = TypeVar("T")

CHUNK_BYTES: Final = 524_288
"""Larger values are cut: a server takes messages up to 1 MB unless it is told otherwise."""
HEADER_BYTES: Final = 4_096
"""What is left for subject and headers where a server takes even less."""
BATCH: Final = 256
BATCH_BYTES: Final = 8_388_608
TOMBSTONE_S: Final = 60.0
MARKER_S: Final = 365 * 86_400.0
"""How long the server remembers that a log's mark has expired, for somebody to clear up."""
RECORDS: Final = "records"
LOGS: Final = "logs"
LIVES: Final = "lives"
CHUNKS: Final = "chunks"
WORK: Final = "work"
LEASES: Final = "leases"
_ONE_EACH: Final = frozenset({RECORDS, LIVES, CHUNKS, WORK, LEASES})
_LABEL: Final = "Seamstream-Label"
_EXPIRED: Final = "Nats-Marker-Reason"
_WRONG_LAST_SEQUENCE: Final = frozenset({10071, 10164})
_LIMITS: Final = frozenset({10002, 10023, 10047, 10054, 10077, 10122})
"""Of resources, storage, bytes and sizes, in an account or a stream."""
_OTHER_CONFIGURATION: Final = 10058
DELETED: Final = b"d"
_VALUE, _CHUNKED = b"v", b"c"


@dataclass(frozen=True, slots=True)
class Found:
    """The last message of a subject, or the next of several. `value` is None for the mark of a deletion, and
    until it is loaded for a value in chunks.
    """

    subject: str
    seq: int
    payload: bytes
    label: str = ""
    expired: bool = False
    """The server says that this was the subject's last message until it expired."""
    value: bytes | None = None
    chunks: str | None = None
    """Where the value's chunks are."""


class Streams(Connection):
    """The six streams of a backend, over one connection."""

    def __init__(self, url: str, *, prefix: str, replicas: int, timeout_s: float, clock: Clock) -> None:
        super().__init__(url, timeout_s)
        self._prefix, self._replicas = prefix, replicas
        self._clock = clock

    async def open(self) -> None:
        """Connect and make the streams."""
        await self.connect()
        for kind in (RECORDS, LOGS, LIVES, CHUNKS, WORK, LEASES):
            await self._make(kind)

    def subject(self, kind: str, *tokens: str) -> str:
        """A subject of that stream; empty tokens are left out."""
        return ".".join((self._prefix, kind, *filter(None, tokens)))

    def tokens(self, kind: str, subject: str) -> str:
        """What `subject` has joined after the kind."""
        return subject[len(self.subject(kind)) + 1 :]

    # ---------------------------------------------------------------- reading

    async def last(self, kind: str, subject: str, *, whole: bool = True) -> Found | None:
        """The last message of a subject; not `whole`, without the chunks of its value."""
        return await self._get(kind, None, subject, whole=whole)

    async def next(self, kind: str, subject: str, seq: int, *, whole: bool = True) -> Found | None:
        """The first message with that sequence or a greater one; the subject may be a pattern."""
        return await self._get(kind, seq, subject, whole=whole)

    async def each(self, kind: str, subject: str, seq: int, at_once: int = BATCH) -> AsyncIterator[Found]:
        """All messages from that sequence on, many in one answer, without the chunks of their values.

        Any server that has the stream may answer, and one of several may lag behind: the end is no proof that
        there is no more.
        """
        while at_once > 0 and (batch := await self.batch(kind, subject, seq, min(at_once, BATCH))):
            for found in batch:
                yield found
            seq = batch[-1].seq + 1

    async def batch(self, kind: str, subject: str, seq: int, count: int) -> list[Found]:
        """The next messages, up to that number, without the chunks of their values."""
        question = {"seq": seq, "next_by_subj": subject, "batch": count, "max_bytes": BATCH_BYTES}
        answers = await self.answers(
            f"$JS.API.DIRECT.GET.{self._stream(kind)}", json.dumps(question).encode()
        )
        return [self._direct(kind, message) for message in answers]

    async def loaded(self, found: Found) -> Found | None:
        """With its value; None if that was replaced by now."""
        if found.chunks is None:
            return found
        count = json.loads(found.payload[1:])[1]
        pieces = [piece async for piece in self.each(CHUNKS, self._chunks(found.chunks), 1)]
        if len(pieces) != count:
            return None
        return replace(found, value=b"".join(piece.payload for piece in pieces))

    async def subjects(self, kind: str, pattern: str) -> list[str]:
        """All subjects of a pattern that hold a message."""
        context = await self._context()
        info = await self._told_of(context.stream_info(self._stream(kind), subjects_filter=pattern))
        return sorted(info.state.subjects or {})

    # ---------------------------------------------------------------- writing

    async def publish(
        self,
        subject: str,
        value: bytes | None,
        *,
        expected: int,
        ttl_s: float | None = None,
        label: str = "",
        chunks_under: str = "",
    ) -> int | None:
        """Publish a value (None: the mark of a deletion) and return its sequence; None if `expected` is not
        the sequence of the subject's last message. Chunks get a name that begins with `chunks_under`.
        """
        payload = DELETED if value is None else _VALUE + value
        chunks = None
        if value is not None and len(payload) > self._chunk_bytes():
            chunks, payload = await self._put_chunks(value, ttl_s, chunks_under)
        seq = await self.publish_payload(subject, payload, expected=expected, ttl_s=ttl_s, label=label)
        if seq is None and chunks is not None:
            await self.drop_chunks(chunks)
        return seq

    async def publish_payload(
        self, subject: str, payload: bytes, *, expected: int, ttl_s: float | None = None, label: str = ""
    ) -> int | None:
        """Publish what another message holds, its chunks stay where they are; else as `publish`."""
        headers = {"Nats-Expected-Last-Subject-Sequence": str(expected)}
        if label:
            headers[_LABEL] = label
        context = await self._context()
        try:
            ack = await self._ask(
                context.publish(subject, payload, headers=headers, msg_ttl=_whole_seconds(ttl_s))
            )
        except self._js_errors.APIError as error:
            if error.err_code in _WRONG_LAST_SEQUENCE:
                return None
            raise _failure(error) from error
        return int(ack.seq)

    async def purge(self, kind: str, subject: str, *, upto: int | None = None) -> None:
        """Delete the messages of a subject, with `upto` those that have no greater sequence."""
        context = await self._context()
        seq = None if upto is None else upto + 1
        await self._told_of(context.purge_stream(self._stream(kind), subject=subject, seq=seq))

    async def drop_chunks(self, chunks: str) -> None:
        """Delete a value's chunks, or those of several if the name is a pattern."""
        await self.purge(CHUNKS, self._chunks(chunks))

    # ---------------------------------------------------------------- made of the above

    def _stream(self, kind: str) -> str:
        return f"{self._prefix}-{kind}"

    def _chunks(self, name: str) -> str:
        return self.subject(CHUNKS, name, "*")

    def _chunk_bytes(self) -> int:
        assert self._client is not None
        return min(CHUNK_BYTES, int(self._client.max_payload) - HEADER_BYTES)

    async def _put_chunks(self, value: bytes, ttl_s: float | None, under: str) -> tuple[str, bytes]:
        """Chunks go first, under a name of their own: a reader of the list finds them all."""
        name, size = ".".join(filter(None, (under, self._clock.uuid()))), self._chunk_bytes()
        ttl = None if ttl_s is None else ttl_s + TOMBSTONE_S
        starts = range(0, len(value), size)
        context = await self._context()
        for number, start in enumerate(starts):
            subject = self.subject(CHUNKS, name, str(number))
            piece = value[start : start + size]
            await self._told_of(context.publish(subject, piece, headers={}, msg_ttl=_whole_seconds(ttl)))
        return name, _CHUNKED + json.dumps([name, len(starts)]).encode()

    async def _get(self, kind: str, seq: int | None, subject: str, *, whole: bool) -> Found | None:
        while True:
            context = await self._context()
            try:
                message = await self._ask(
                    context.get_msg(self._stream(kind), seq=seq, subject=subject, next=seq is not None)
                )
            except self._js_errors.NotFoundError:
                return None
            except self._js_errors.APIError as error:
                raise _failure(error) from error
            found = _found(
                str(message.subject), int(message.seq or 0), message.data or b"", message.headers or {}
            )
            if not whole or (complete := await self.loaded(found)) is not None:
                return complete if whole else found
            # The value was replaced while we read it: look again.

    def _direct(self, kind: str, message: Any) -> Found:
        headers = message.headers or {}
        if "Nats-Sequence" not in headers:
            raise StoreError(f"NATS failed: {headers.get('Status')} {headers.get('Description')}")
        subject, seq = headers["Nats-Subject"], int(headers["Nats-Sequence"])
        if kind == CHUNKS:
            return Found(subject, seq, message.data)
        return _found(subject, seq, message.data, headers)

    async def _make(self, kind: str) -> None:
        """Make a stream, or bring the one that there is up to date."""
        context, config = await self._context(), self._config(kind)
        try:
            await self._ask(context.add_stream(config))
        except self._js_errors.APIError as error:
            if error.err_code != _OTHER_CONFIGURATION:
                raise _failure(error) from error
            await self._told_of(context.update_stream(config))

    def _config(self, kind: str) -> Any:
        return self._nats.js.api.StreamConfig(
            name=self._stream(kind),
            subjects=[f"{self._prefix}.{kind}.>"],
            max_msgs_per_subject=1 if kind in _ONE_EACH else -1,
            num_replicas=self._replicas,
            allow_direct=True,
            allow_msg_ttl=True,
            allow_rollup_hdrs=kind == LIVES,
            subject_delete_marker_ttl=MARKER_S if kind == LIVES else None,
        )

    async def _told_of(self, question: Awaitable[T]) -> T:
        try:
            return await self._ask(question)
        except self._js_errors.APIError as error:
            raise _failure(error) from error


def _found(subject: str, seq: int, data: bytes, headers: Mapping[str, str]) -> Found:
    label, kind = headers.get(_LABEL, ""), data[:1]
    if kind == _CHUNKED:
        return Found(subject, seq, data, label, chunks=json.loads(data[1:])[0])
    value = data[1:] if kind == _VALUE else None
    return Found(subject, seq, data, label, _EXPIRED in headers, value)


def _whole_seconds(ttl_s: float | None) -> int | None:
    return None if ttl_s is None else max(1, math.ceil(ttl_s))


def _failure(error: Any) -> StoreError:
    if error.err_code in _LIMITS:
        return StoreLimitError(f"NATS is full or the value is too large for it: {error.description}")
    return StoreError(f"NATS failed: {error}")
