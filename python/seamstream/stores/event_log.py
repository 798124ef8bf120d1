"""A run's typed events as a log of a `Backend`: one entry an event, so that a reader can come back to it.

While nothing is lost the number of an entry is the `seq` of its event. Every entry says its event's `seq` all
the same, so that a reader sees what is missing, and the epoch of its writer, so that a writer sees who wrote.
"""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Final

import orjson

from .. import types
from ..errors import StoreError
from ..types import Event
from .backend import Backend, LogEntry
from .cipher import Cipher, Plain, decrypted, encrypted
from .encoding import decode_record, encode_record
from .replay_events import RunEnd

_FOLDER: Final = "events"
_KINDS: Final[dict[str, type[Event]]] = {
    kind.__name__: kind
    for kind in (
        *(types.AttemptStart, types.TextDelta, types.ReasoningDelta, types.RefusalDelta, types.ToolCallStart),
        *(types.ToolCallDelta, types.ToolCallReady, types.ToolCallCancel, types.StreamReset, types.Seam),
        *(types.UsageUpdate, types.Finish, RunEnd),
    )
}


@dataclass(frozen=True, slots=True)
class Logged:
    """An event as it stands in the log: the number of its entry, and the epoch of its writer."""

    place: int
    epoch: int
    event: Event


class EventLog:
    """The log of one run. It expires `ttl_s` after its last event."""

    def __init__(
        self, backend: Backend, tenant: str, run_id: str, *, ttl_s: float | None, cipher: Cipher | None
    ) -> None:
        self._backend = backend
        self._tenant = tenant
        self._key = (_FOLDER, run_id)
        self._ttl_s = ttl_s
        self._cipher: Cipher = cipher or Plain()

    async def append(self, events: Sequence[Event], *, epoch: int, after: int) -> int | None:
        """Append them behind the entry `after`; the last entry's number, None if it is not the last."""
        values = [encrypted(self._cipher, _encode(event, epoch)) for event in events]
        return await self._backend.append(self._tenant, self._key, values, after=after, ttl_s=self._ttl_s)

    async def read(self, *, after: int = 0, limit: int | None = None) -> list[Logged]:
        entries = await self._backend.read(self._tenant, self._key, after=after, limit=limit)
        return [self._decode(entry) for entry in entries]

    async def follow(self, *, after: int = 0) -> AsyncIterator[Logged]:
        """What is there, then what comes, until the log is no more."""
        following = self._backend.follow(self._tenant, self._key, after=after)
        async with aclosing(following) as entries:  # type: ignore[type-var]
            async for entry in entries:
                yield self._decode(entry)

    def _decode(self, entry: LogEntry) -> Logged:
        """StoreError for what this version cannot read."""
        data = decrypted(self._cipher, entry.value)
        try:
            name, epoch, *values = orjson.loads(data)
            kind = _KINDS[name]
            fields = dict(zip(_names(kind), values, strict=True))
            return Logged(entry.seq, int(epoch), decode_record(kind, fields))
        except (KeyError, TypeError, ValueError) as error:
            raise StoreError(f"entry {entry.seq} of an event log cannot be read: {error}") from error


def _encode(event: Event, epoch: int) -> bytes:
    kind = type(event)
    values: list[Any] = [encode_record(getattr(event, name)) for name in _names(kind)]
    return orjson.dumps([kind.__name__, epoch, *values])


def _names(kind: type[Event]) -> list[str]:
    return [field.name for field in dataclasses.fields(kind)]
