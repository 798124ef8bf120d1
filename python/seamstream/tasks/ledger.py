"""A task's ledger: an append-only log of facts, each entry chained to the one before it by its hash.

Only the owner of the task's latest epoch can append, because each append names the last entry that it knows:
an owner that was away finds that others have written and is refused. Entries hold ids, counts, codes and
digests, no content.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from ..errors import StaleOwner, StoreError
from ..stores.backend import Backend, Key
from .records import Fact

GENESIS: Final = ""
"""The hash before the first entry."""
_OPTIONAL: Final = frozenset({"step_id", "attempt", "invocation_id", "kind", "details"})


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry. `seq` counts from 1; `hash` covers all other fields and the hash of the entry before."""

    seq: int
    hash: str
    previous: str
    id: str
    event: str
    at_s: float
    epoch: int
    task_id: str
    step_id: str = ""
    attempt: int = 0
    invocation_id: str = ""
    kind: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """The entry as plain data; of the optional fields those that are empty are left out."""
        values = {name: getattr(self, name) for name in self.__slots__}
        return {name: value for name, value in values.items() if value or name not in _OPTIONAL}


class Ledger:
    """The ledger of one task, as its owner writes it."""

    def __init__(self, backend: Backend, tenant: str, task_id: str) -> None:
        self._backend = backend
        self._tenant = tenant
        self._task_id = task_id
        self._head, self._hash = 0, GENESIS

    @property
    def reference(self) -> str:
        """Where the evidence stands, down to the last entry and its hash."""
        return reference_to(self._tenant, self._task_id, self._head, self._hash)

    async def open(self) -> list[Entry]:
        """Find the end of the log and return what stands in it; StoreError when the chain is broken."""
        entries = await read_ledger(self._backend, self._tenant, self._task_id)
        problems = chain_problems(entries)
        if problems:
            raise StoreError(f"the ledger of task {self._task_id} is broken: {problems[0]}")
        if entries:
            self._head, self._hash = entries[-1].seq, entries[-1].hash
        return entries

    async def append(self, facts: Sequence[Fact]) -> None:
        """Write facts behind the last entry known; StaleOwner when somebody else has written."""
        if facts and not await self.try_append(facts):
            raise StaleOwner(f"task {self._task_id} has another owner: the ledger has gone on")

    async def try_append(self, facts: Sequence[Fact]) -> bool:
        """The same for who cannot know yet what stands there: False when somebody else has written."""
        entries = list(self._sealed(facts))
        values = [orjson.dumps(entry.to_dict(), option=orjson.OPT_SORT_KEYS) for entry in entries]
        last = await self._backend.append(self._tenant, ledger_key(self._task_id), values, after=self._head)
        if last is None:
            return False
        self._head, self._hash = last, entries[-1].hash
        return True

    def _sealed(self, facts: Iterable[Fact]) -> Iterable[Entry]:
        previous = self._hash
        for seq, fact in enumerate(facts, self._head + 1):
            fields = {name: getattr(fact, name) for name in Fact.__slots__}
            unsealed = Entry(seq=seq, hash="", previous=previous, task_id=self._task_id, **fields)
            previous = hash_of(unsealed)
            yield Entry(seq=seq, hash=previous, previous=unsealed.previous, task_id=self._task_id, **fields)


def ledger_key(task_id: str) -> Key:
    """The log that holds a task's ledger."""
    return ("ledger", task_id)


def reference_to(tenant: str, task_id: str, seq: int, entry_hash: str) -> str:
    """What names a ledger up to one entry, and what that entry must be."""
    return f"ledger:{tenant}/{task_id}@{seq}:{entry_hash[:16]}"


async def read_ledger(backend: Backend, tenant: str, task_id: str) -> list[Entry]:
    """All entries of a task, in order; StoreError for one that cannot be read."""
    return [_entry(entry.value) for entry in await backend.read(tenant, ledger_key(task_id))]


def hash_of(entry: Entry) -> str:
    """The hash that an entry must carry."""
    fields = {**entry.to_dict(), "hash": ""}
    return hashlib.sha256(orjson.dumps(fields, option=orjson.OPT_SORT_KEYS)).hexdigest()


def chain_problems(entries: Sequence[Entry]) -> list[str]:
    """Where the chain breaks: an entry that is missing, out of order, or not what was written."""
    problems: list[str] = []
    previous = GENESIS
    for expected, entry in enumerate(entries, 1):
        if entry.seq != expected:
            problems.append(f"entry {expected} is missing")
        elif entry.previous != previous:
            problems.append(f"entry {entry.seq} does not follow the one before it")
        elif hash_of(entry) != entry.hash:
            problems.append(f"entry {entry.seq} was changed")
        previous = entry.hash
    return problems


def _entry(value: bytes) -> Entry:
    try:
        return Entry(**orjson.loads(value))
    except (TypeError, ValueError) as error:
        raise StoreError(f"a ledger entry cannot be read: {error}") from error
