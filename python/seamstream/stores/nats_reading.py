"""Reads the streams of the NATS backend: the last message of a subject, the next one, many at once.

A message's first byte says what it holds: a value, the list of a value's chunks, or the mark of a deletion. A
label in its headers says what its subject needs to know without the value.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from ..errors import StoreError, StoreLimitError
from .nats_connection import Connection

T = TypeVar("T")

SUBJECT_BYTES: Final = 3_584
"""What `max_control_line`, 4,096 bytes, leaves of a line for a subject."""
BATCH: Final = 256
BATCH_BYTES: Final = 8_388_608
RECORDS: Final = "records"
LOGS: Final = "logs"
LIVES: Final = "lives"
CHUNKS: Final = "chunks"
WORK: Final = "work"
LEASES: Final = "leases"
LABEL: Final = "Seamstream-Label"
VALUE: Final = b"v"
CHUNKED: Final = b"c"
DELETED: Final = b"d"
_EXPIRED: Final = "Nats-Marker-Reason"
_LIMITS: Final = frozenset({10002, 10023, 10047, 10054, 10077, 10122})
"""Of resources, storage, bytes and sizes, in an account or a stream."""


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


class Reading(Connection):
    """The streams whose names begin with a prefix."""

    def __init__(self, url: str, timeout_s: float, prefix: str) -> None:
        super().__init__(url, timeout_s)
        self._prefix = prefix

    def subject(self, kind: str, *tokens: str) -> str:
        """A subject of that stream; empty tokens are left out. A server ends the connection of whoever sends
        a longer one than it takes, so that is a StoreLimitError here.
        """
        subject = ".".join((self._prefix, kind, *filter(None, tokens)))
        if len(subject) > SUBJECT_BYTES:
            raise StoreLimitError(
                f"NATS takes subjects up to {SUBJECT_BYTES} bytes, and tenant and key make {len(subject)}"
            )
        return subject

    def tokens(self, kind: str, subject: str) -> str:
        """What `subject` has joined after the kind."""
        return subject[len(self.subject(kind)) + 1 :]

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

    def _stream(self, kind: str) -> str:
        return f"{self._prefix}-{kind}"

    def _chunks(self, name: str) -> str:
        return self.subject(CHUNKS, name, "*")

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
                raise failure(error) from error
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

    async def _told_of(self, question: Awaitable[T]) -> T:
        try:
            return await self._ask(question)
        except self._js_errors.APIError as error:
            raise failure(error) from error


def _found(subject: str, seq: int, data: bytes, headers: Mapping[str, str]) -> Found:
    label, kind = headers.get(LABEL, ""), data[:1]
    if kind == CHUNKED:
        return Found(subject, seq, data, label, chunks=json.loads(data[1:])[0])
    value = data[1:] if kind == VALUE else None
    return Found(subject, seq, data, label, _EXPIRED in headers, value)


def failure(error: Any) -> StoreError:
    if error.err_code in _LIMITS:
        return StoreLimitError(f"NATS is full or the value is too large for it: {error.description}")
    return StoreError(f"NATS failed: {error}")
