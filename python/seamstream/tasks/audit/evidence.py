"""Everything that an audit looks at, read once; the checks themselves are pure functions of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

import orjson

from ...errors import StoreError
from ...stores.backend import Backend, Record
from ...stores.encoding import decode_record
from ...stores.keys import escape
from ..agent import cancel_key
from ..ledger import GENESIS, Entry, chain_problems, ledger_key, reference_to
from ..reading import task_key
from ..records import DurableStep, Fact, ResultRef, Task, ToolInvocation, decode_step, decode_task
from ..results import ResultStore
from .release import Release
from .trails import AttemptTrail, trails_of

MAX_LOOKS: Final = 5
"""A task that is being worked on may change between two reads; so often it is read again."""
MAX_BREAKS: Final = 5
"""How many breaks of the chain are told."""


@dataclass(frozen=True)
class Evidence:
    """One task's records and ledger as they stood at one moment.

    `broken`: what is wrong with the ledger itself. `unreadable`: why objects behind result references cannot
    be read, by path. `looked_up`: there was a result store to read them from. `expected`: a reference to an
    entry that the ledger must contain.
    """

    tenant: str
    task: Task
    steps: tuple[DurableStep, ...]
    entries: tuple[Entry, ...]
    broken: tuple[str, ...]
    now_s: float
    release: Release | None = None
    origin: Task | None = None
    cancel_asked: bool = False
    unreadable: Mapping[str, str] = field(default_factory=dict)
    looked_up: bool = False
    expected: str | None = None

    def of(self, *events: str) -> list[Entry]:
        """The entries of these events, in order."""
        return [entry for entry in self.entries if entry.event in events]

    def about(self, invocation_id: str, *events: str) -> list[Entry]:
        """The entries of these events about one tool call."""
        return [entry for entry in self.of(*events) if entry.invocation_id == invocation_id]

    @cached_property
    def attempts(self) -> tuple[AttemptTrail, ...]:
        return trails_of(self.entries)

    @property
    def calls(self) -> Iterable[ToolInvocation]:
        """All tool calls, in the order of their steps."""
        return (call for step in self.steps for call in step.tool_calls)

    @property
    def references(self) -> Iterable[ResultRef]:
        return (call.result_ref for call in self.calls if call.result_ref is not None)

    @property
    def untold(self) -> list[Fact]:
        """Facts of the last change of a record that the ledger does not have."""
        known = {entry.id for entry in self.entries}
        last = (*self.task.unlogged, *(fact for step in self.steps for fact in step.unlogged))
        return [fact for fact in last if fact.id not in known]

    def has(self, reference: str) -> bool:
        """Does the ledger contain the entry that this reference names?"""
        name = (self.tenant, self.task.task_id)
        return any(reference == reference_to(*name, entry.seq, entry.hash) for entry in self.entries)

    @property
    def reference(self) -> str:
        last = self.entries[-1] if self.entries else None
        seq, entry_hash = (last.seq, last.hash) if last is not None else (0, GENESIS)
        return reference_to(self.tenant, self.task.task_id, seq, entry_hash)


async def gather(
    backend: Backend,
    tenant: str,
    task_id: str,
    *,
    now_s: float,
    release: Release | None = None,
    results: ResultStore | None = None,
) -> Evidence:
    """Read a task's records and its ledger as of one moment.

    StoreError when there is no such task, when a record cannot be read, or when it is changing all the time.
    """
    for _ in range(MAX_LOOKS):
        before = await _records(backend, tenant, task_id)
        entries, broken = await _ledger(backend, tenant, task_id)
        if _revisions(before) == _revisions(await _records(backend, tenant, task_id)):
            break
    else:
        raise StoreError(f"task {task_id} is changing too fast to be audited now")
    task, steps = decode_task(before[0].value), tuple(decode_step(record.value) for record in before[1:])
    evidence = Evidence(
        *(tenant, task, steps, entries, broken, now_s, release),
        origin=await _origin(backend, tenant, task.origin),
        cancel_asked=await backend.get(tenant, cancel_key(task_id)) is not None,
    )
    return await _looked_up(evidence, results)


async def _records(backend: Backend, tenant: str, task_id: str) -> list[Record]:
    """The task and its steps."""
    task = await backend.get(tenant, task_key(task_id))
    if task is None:
        raise StoreError(f"there is no task {task_id!r}")
    return [task, *[record async for _, record in backend.scan(tenant, ("step", task_id))]]


def _revisions(records: Iterable[Record]) -> list[int]:
    return [record.revision for record in records]


async def _ledger(backend: Backend, tenant: str, task_id: str) -> tuple[tuple[Entry, ...], tuple[str, ...]]:
    """What can be read of a ledger, and what is wrong with it: who has changed it must not end the audit."""
    entries: list[Entry] = []
    broken: list[str] = []
    for raw in await backend.read(tenant, ledger_key(task_id)):
        try:
            entries.append(decode_record(Entry, orjson.loads(raw.value)))
        except (TypeError, ValueError) as error:
            broken.append(f"entry {raw.seq} cannot be read: {error}")
    broken += chain_problems(entries)
    broken += [f"entry {entry.seq} is of another task" for entry in entries if entry.task_id != task_id]
    return tuple(entries), tuple(broken[:MAX_BREAKS])


async def _origin(backend: Backend, tenant: str, task_id: str) -> Task | None:
    record = await backend.get(tenant, task_key(task_id)) if task_id else None
    return None if record is None else decode_task(record.value)


async def _looked_up(evidence: Evidence, results: ResultStore | None) -> Evidence:
    """The evidence with what is wrong with the objects that it refers to."""
    unreadable = {ref.path: why for ref in evidence.references if (why := _refused(evidence, ref))}
    if results is None:
        return dataclasses.replace(evidence, unreadable=unreadable)
    for ref in evidence.references:
        try:
            await results.get(evidence.tenant, ref, now_s=evidence.now_s)
        except StoreError as error:
            unreadable.setdefault(ref.path, str(error))
    return dataclasses.replace(evidence, unreadable=unreadable, looked_up=True)


def _refused(evidence: Evidence, ref: ResultRef) -> str | None:
    """What can be said of a reference without its object."""
    if not ref.path.startswith(f"{escape(evidence.tenant)}/"):
        return "it is not of this tenant"
    return "it has expired" if evidence.now_s >= ref.expires_at_s else None
