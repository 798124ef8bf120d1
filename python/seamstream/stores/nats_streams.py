"""What the NATS backend is built from: values of any size under subjects, and publishing that compares.

JetStream compares the sequence of a subject's last message when it takes the next one; that is the only
atomic step here, and all others are made of it.
"""

from __future__ import annotations

import json
import math
from contextlib import suppress
from typing import Any, Final

from ..clock import Clock
from ..errors import StoreError, StoreLimitError
from .nats_reading import (
    CHUNKED,
    CHUNKS,
    DELETED,
    LABEL,
    LEASES,
    LIVES,
    LOGS,
    RECORDS,
    VALUE,
    WORK,
    Reading,
    failure,
)

CHUNK_BYTES: Final = 524_288
"""Larger values are cut: a server takes messages up to 1 MB unless it is told otherwise."""
HEADER_BYTES: Final = 4_096
"""What is left for subject and headers where a server takes even less."""
TOMBSTONE_S: Final = 60.0
MARKER_S: Final = 365 * 86_400.0
"""How long the server remembers that a log's mark has expired, for somebody to clear up."""
_ONE_EACH: Final = frozenset({RECORDS, LIVES, CHUNKS, WORK, LEASES})
_WRONG_LAST_SEQUENCE: Final = frozenset({10071, 10164})
_OTHER_CONFIGURATION: Final = 10058


class Streams(Reading):
    """The six streams of a backend, over one connection."""

    def __init__(self, url: str, *, prefix: str, replicas: int, timeout_s: float, clock: Clock) -> None:
        super().__init__(url, timeout_s, prefix)
        self._replicas = replicas
        self._clock = clock

    async def open(self) -> None:
        """Connect and make the streams."""
        await self.connect()
        for kind in (RECORDS, LOGS, LIVES, CHUNKS, WORK, LEASES):
            await self._make(kind)

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
        payload = DELETED if value is None else VALUE + value
        chunks = ""
        if value is not None and len(payload) > self._chunk_bytes():
            chunks, payload = await self._put_chunks(value, ttl_s, chunks_under)
        try:
            seq = await self.publish_payload(subject, payload, expected=expected, ttl_s=ttl_s, label=label)
        except StoreLimitError:
            await self._forget(chunks)
            raise
        if seq is None:
            await self._forget(chunks)
        return seq

    async def publish_payload(
        self, subject: str, payload: bytes, *, expected: int, ttl_s: float | None = None, label: str = ""
    ) -> int | None:
        """Publish what another message holds, its chunks stay where they are; else as `publish`."""
        headers = {"Nats-Expected-Last-Subject-Sequence": str(expected)}
        if label:
            headers[LABEL] = label
        context = await self._context()
        try:
            ack = await self._ask(
                context.publish(subject, payload, headers=headers, msg_ttl=_whole_seconds(ttl_s))
            )
        except self._js_errors.APIError as error:
            if error.err_code in _WRONG_LAST_SEQUENCE:
                return None
            raise failure(error) from error
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

    def _chunk_bytes(self) -> int:
        assert self._client is not None
        return min(CHUNK_BYTES, int(self._client.max_payload) - HEADER_BYTES)

    async def _put_chunks(self, value: bytes, ttl_s: float | None, under: str) -> tuple[str, bytes]:
        """Chunks go first, under a name of their own: a reader of the list finds them all."""
        name, size = ".".join(filter(None, (under, self._clock.uuid()))), self._chunk_bytes()
        starts = range(0, len(value), size)
        try:
            for number, start in enumerate(starts):
                piece = value[start : start + size]
                await self._put(self.subject(CHUNKS, name, str(number)), piece, ttl_s)
        except StoreError:
            await self._forget(name)
            raise
        return name, CHUNKED + json.dumps([name, len(starts)]).encode()

    async def _put(self, subject: str, piece: bytes, ttl_s: float | None) -> None:
        """A chunk outlives its value by a little."""
        ttl = _whole_seconds(None if ttl_s is None else ttl_s + TOMBSTONE_S)
        context = await self._context()
        await self._told_of(context.publish(subject, piece, headers={}, msg_ttl=ttl))

    async def _forget(self, chunks: str) -> None:
        """Drop the chunks, if any, of what will never be a value; the caller tells what has failed."""
        with suppress(StoreError):
            if chunks:
                await self.drop_chunks(chunks)

    async def _make(self, kind: str) -> None:
        """Make a stream, or bring the one that there is up to date."""
        context, config = await self._context(), self._config(kind)
        try:
            await self._ask(context.add_stream(config))
        except self._js_errors.APIError as error:
            if error.err_code != _OTHER_CONFIGURATION:
                raise failure(error) from error
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


def _whole_seconds(ttl_s: float | None) -> int | None:
    return None if ttl_s is None else max(1, math.ceil(ttl_s))
