"""`nats://`: records, logs and work in NATS JetStream 2.11 or newer, with nats-py.

Records are the last messages of subjects, and their revisions the sequences that JetStream compares. A log is
a subject with all its messages. A claim is a message of its own whose time to live is the lease: the server
lets it expire, by its own clock, and sequences fence off whoever lost it. (A consumer's acks do neither: one
ack time holds for all jobs, and a late ack of a lost delivery is taken.) Times are whole seconds, rounded up.

JetStream acknowledges after it has written to its file, which it syncs every two minutes unless the server
is set to `sync_interval: always`; with `replicas=3` a message is on two servers at least.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

from ..clock import Clock, SystemClock
from .backend import Key, Record
from .in_time import DEFAULT_TIMEOUT_S, in_time
from .keys import escape, join, split
from .nats_logs import NatsLogs
from .nats_reading import RECORDS, Found
from .nats_streams import TOMBSTONE_S, Streams
from .nats_work import NatsWork


class NatsBackend(NatsLogs, NatsWork):
    """A `Backend` in NATS (`pip install seamstream[nats]`)."""

    server_name = "NATS"

    def __init__(
        self,
        url: str,
        *,
        prefix: str = "seamstream",
        replicas: int = 1,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        clock: Clock | None = None,
    ) -> None:
        self.timeout_s = timeout_s
        self._clock = clock or SystemClock()
        self._streams = Streams(url, prefix=prefix, replicas=replicas, timeout_s=timeout_s, clock=self._clock)

    @in_time
    async def open(self) -> NatsBackend:
        """Connect; ConfigurationError for a server that is too old, StoreError for one that is away."""
        await self._streams.open()
        return self

    async def aclose(self) -> None:
        await self._streams.aclose()

    # ---------------------------------------------------------------- records

    @in_time
    async def get(self, tenant: str, key: Key) -> Record | None:
        found = await self._streams.last(RECORDS, self._record(tenant, key))
        return None if found is None or found.value is None else Record(found.value, found.seq)

    @in_time
    async def put(self, tenant: str, key: Key, value: bytes, *, ttl_s: float | None = None) -> int:
        while True:
            before = await self._streams.last(RECORDS, self._record(tenant, key))
            expected = before.seq if before is not None else 0
            if (revision := await self._replace(tenant, key, before, value, expected, ttl_s)) is not None:
                return revision

    @in_time
    async def compare_and_set(
        self, tenant: str, key: Key, value: bytes, *, revision: int, ttl_s: float | None = None
    ) -> int | None:
        for _ in range(2):  # once more if the mark of a deletion expired in between
            before = await self._streams.last(RECORDS, self._record(tenant, key))
            alive = before is not None and before.value is not None
            if (before.seq if before is not None and alive else 0) != revision:
                return None
            expected = before.seq if before is not None else 0
            done = await self._replace(tenant, key, before, value, expected, ttl_s)
            if done is not None or alive or before is None:
                return done
        return None

    @in_time
    async def delete(self, tenant: str, key: Key, *, revision: int | None = None) -> bool:
        while True:
            before = await self._streams.last(RECORDS, self._record(tenant, key))
            if before is None or before.value is None or revision not in (None, before.seq):
                return False
            if await self._replace(tenant, key, before, None, before.seq, TOMBSTONE_S) is not None:
                return True

    async def scan(self, tenant: str, prefix: Key = ()) -> AsyncIterator[tuple[Key, Record]]:
        root = len(self._record(tenant, ())) + 1
        for subject in await self._names(self._record(tenant, prefix)):
            key = split(subject[root:])
            record = await self.get(tenant, key)
            if record is not None:
                yield key, record

    # ---------------------------------------------------------------- made of the above

    @in_time
    async def _names(self, prefix: str) -> list[str]:
        """The subjects under one, in order."""
        exact = await self._streams.subjects(RECORDS, prefix)
        return sorted(exact + await self._streams.subjects(RECORDS, f"{prefix}.>"))

    def _record(self, tenant: str, key: Key) -> str:
        return self._streams.subject(RECORDS, escape(tenant), join(key))

    async def _replace(
        self,
        tenant: str,
        key: Key,
        before: Found | None,
        value: bytes | None,
        expected: int,
        ttl_s: float | None,
    ) -> int | None:
        """Publish a record's next value, and drop the chunks of its last one."""
        subject = self._record(tenant, key)
        revision = await self._streams.publish(subject, value, expected=expected, ttl_s=ttl_s)
        if revision is not None and before is not None and before.chunks is not None:
            await self._streams.drop_chunks(before.chunks)
        return revision
