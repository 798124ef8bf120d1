"""One owner's hold on one task: every change is a compare-and-set, and is in the ledger before the next one.

Taking a task over raises its epoch in the task and in its current step. From then on every write of the owner
before fails, to a record because its revision has changed and to the ledger because it has gone on; that
owner gets a StaleOwner and stops. What its last change had not yet told the ledger is told first.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable, Iterable
from typing import Any, Self, TypeVar

from ..clock import Clock
from ..errors import StaleOwner, StoreError
from ..stores.backend import Backend, Key
from .ledger import Entry, Ledger
from .open_attempts import ENDED, STARTED, lost_attempts
from .reading import step_key, task_key
from .records import (
    DurableStep,
    Fact,
    FileRef,
    SourceRef,
    Task,
    ToolInvocation,
    decode_step,
    decode_task,
    encode,
)

Ordered = TypeVar("Ordered", FileRef, SourceRef)


class TaskJournal:
    """The only writer of a task's records and ledger. `task` and `step` are as they were last written."""

    def __init__(self, backend: Backend, tenant: str, task: Task, clock: Clock) -> None:
        self.task = task
        self.step: DurableStep | None = None
        self.ledger = Ledger(backend, tenant, task.task_id)
        self.backend = backend
        self._tenant = tenant
        self._clock = clock
        self._task_revision = 0
        self._step_revision = 0
        self._noted: list[Fact] = []
        self._attempts: dict[tuple[str, int], int] = {}
        self.billed: set[int] = set()
        """Attempts whose usage is in the ledger, or on its way there."""
        self.last_error = ""
        """How the newest attempt that failed has ended."""
        self._writing = asyncio.Lock()

    @classmethod
    async def create(cls, backend: Backend, tenant: str, task: Task, clock: Clock) -> Self:
        """Store a new task; StoreError when its id is taken."""
        journal = cls(backend, tenant, task, clock)
        created = journal.fact("task_created", **_created_details(task))
        async with journal._writing:
            if not await journal._set_task(dataclasses.replace(task, unlogged=(created,))):
                raise StoreError(f"there is a task {task.task_id!r} already")
            # A worker may have been so quick as to take the task already: then it has told this.
            await journal.ledger.try_append([created])
        return journal

    @classmethod
    async def take(cls, backend: Backend, tenant: str, task_id: str, *, owner: str, clock: Clock) -> Self:
        """Become the owner of a task, whoever it belonged to. StaleOwner when another was quicker."""
        record = await backend.get(tenant, task_key(task_id))
        if record is None:
            raise StoreError(f"there is no task {task_id!r}")
        journal = cls(backend, tenant, decode_task(record.value), clock)
        journal._task_revision = record.revision
        async with journal._writing:
            await journal._take(owner)
        return journal

    def fact(
        self,
        event: str,
        *,
        attempt: int = 0,
        invocation: ToolInvocation | None = None,
        kind: str = "",
        step_id: str | None = None,
        **details: Any,
    ) -> Fact:
        """A fact about this task now; details that are None are left out."""
        named = self.step.step_id if self.step is not None and step_id is None else step_id or ""
        known = {name: value for name, value in details.items() if value is not None}
        called = invocation.id if invocation is not None else ""
        number = attempt or (invocation.attempt if invocation is not None else 0)
        made, at_s, epoch = self._clock.uuid(), self._clock.wall(), self.task.epoch
        return Fact(made, event, at_s, epoch, named, number, called, kind, known)

    def attempts_of_step(self) -> dict[int, int]:
        """The task's number of each attempt that earlier owners made in the current step, by the number that
        the attempt has in its run.
        """
        step_id = self.current_step.step_id
        return {run: number for (step, run), number in self._attempts.items() if step == step_id}

    # ---------------------------------------------------------------- writing

    def note(self, fact: Fact) -> None:
        """Remember a fact from where nobody can wait; it is written before the next change."""
        self._noted.append(fact)
        self._note_error([fact])

    async def change_task(self, *facts: Fact, **changes: Any) -> Task:
        """Change fields of the task, and tell the ledger."""
        async with self._writing:
            told = self._with_noted(facts)
            if not await self._set_task(dataclasses.replace(self.task, unlogged=told, **changes)):
                raise StaleOwner(f"task {self.task.task_id} has another owner: its record has changed")
            await self._append(told)
            return self.task

    async def change_step(self, *facts: Fact, **changes: Any) -> DurableStep:
        """Change fields of the current step, and tell the ledger."""
        async with self._writing:
            return await self._change_step(facts, changes)

    async def change_invocation(
        self,
        invocation_id: str,
        *facts: Fact,
        files: Iterable[FileRef] = (),
        sources: Iterable[SourceRef] = (),
        **changes: Any,
    ) -> ToolInvocation:
        """Change one tool call of the current step, and add the files and sources that it left behind; calls
        that run beside it keep their own changes.
        """
        async with self._writing:
            step = self.current_step
            changed = dataclasses.replace(step.invocation(invocation_id), **changes)
            calls = tuple(changed if call.id == invocation_id else call for call in step.tool_calls)
            left = {"files": _behind(step.files, files), "sources": _behind(step.sources, sources)}
            await self._change_step(facts, {"tool_calls": calls, **left})
            return changed

    async def begin_step(self, step: DurableStep, *facts: Fact) -> None:
        """Make `step` the current one."""
        async with self._writing:
            told = self._with_noted(facts)
            self.step, self._step_revision = None, 0
            if not await self._set_step(dataclasses.replace(step, unlogged=told)):
                raise StaleOwner(f"task {self.task.task_id} has another owner: it has begun this step")
            await self._append(told)

    async def tell(self, *facts: Fact) -> None:
        """Tell the ledger of something that changes no record."""
        async with self._writing:
            await self._append(self._with_noted(facts))

    @property
    def current_step(self) -> DurableStep:
        if self.step is None:
            raise StoreError(f"task {self.task.task_id} has no step yet")
        return self.step

    # ---------------------------------------------------------------- beneath the lock

    async def _take(self, owner: str) -> None:
        former, epoch = self.task.owner, self.task.epoch + 1
        taken = dataclasses.replace(self.task, epoch=epoch, owner=owner)
        if not await self._set_task(taken):
            raise StaleOwner(f"another process has just taken task {self.task.task_id}")
        await self._take_step(epoch)
        while not await self._enter_ledger(former):
            pass

    async def _enter_ledger(self, former: str) -> bool:
        """Write behind all that earlier owners have written; False when one of them was still writing."""
        entries = await self.ledger.open()
        if any(entry.epoch > self.task.epoch for entry in entries):
            raise StaleOwner(f"another process has taken task {self.task.task_id} since")
        self._attempts = {
            (entry.step_id, entry.details["run_attempt"]): entry.attempt
            for entry in entries
            if entry.event == STARTED
        }
        self._note_error(entries)
        self.billed = {entry.attempt for entry in entries if entry.event == "attempt_usage"}
        known = {entry.id for entry in entries}
        untold = [fact for fact in self._unlogged() if fact.id not in known]
        return await self.ledger.try_append([*untold, *self._taking_over(former, entries, untold)])

    def _note_error(self, told: Iterable[Entry | Fact]) -> None:
        for each in told:
            if each.event in ENDED and each.details.get("error"):
                self.last_error = str(each.details["error"])

    async def _take_step(self, epoch: int) -> None:
        """The newest step may be one further than the task says, if its owner died in between."""
        for number in (self.task.step + 1, self.task.step):
            record = await self.backend.get(self._tenant, step_key(self.task.task_id, number))
            if number == 0 or record is None:
                continue
            step = decode_step(record.value)
            self._step_revision = record.revision
            taken = step.epoch < epoch and await self._set_step(dataclasses.replace(step, epoch=epoch))
            if not taken:
                raise StaleOwner(f"another process has taken task {self.task.task_id} since")
            return

    def _unlogged(self) -> Iterable[Fact]:
        yield from self.task.unlogged
        yield from self.step.unlogged if self.step is not None else ()

    def _taking_over(self, former: str, entries: list[Entry], untold: list[Fact]) -> Iterable[Fact]:
        """Attempts that nobody will end any more, and that there is a new owner."""
        for entry in lost_attempts(entries, untold):
            yield self.fact(
                "attempt_failed",
                attempt=entry.attempt,
                step_id=entry.step_id,
                kind=entry.kind,
                error="owner_lost",
                usage_known=False,
            )
        event = "task_taken_over" if former else "task_claimed"
        yield self.fact(event, owner=self.task.owner, former=former or None)

    async def _change_step(self, facts: Iterable[Fact], changes: dict[str, Any]) -> DurableStep:
        told = self._with_noted(facts)
        if not await self._set_step(dataclasses.replace(self.current_step, unlogged=told, **changes)):
            raise StaleOwner(f"task {self.task.task_id} has another owner: its step has changed")
        await self._append(told)
        return self.current_step

    async def _append(self, told: tuple[Fact, ...]) -> None:
        """A record that shows these facts stands already; if the ledger does not take them, the next write
        tells them, for its record would no longer show them.
        """
        try:
            await self.ledger.append(told)
        except BaseException:
            self._noted = [*told, *self._noted]
            raise

    async def _set_task(self, task: Task) -> bool:
        key = task_key(task.task_id)
        return await self._set(key, task, self._task_revision, self._keep_task)

    async def _set_step(self, step: DurableStep) -> bool:
        key = step_key(step.task_id, step.number)
        return await self._set(key, step, self._step_revision, self._keep_step)

    async def _set(self, key: Key, record: Any, revision: int, keep: Callable[[Any, int], None]) -> bool:
        written = await self.backend.compare_and_set(self._tenant, key, encode(record), revision=revision)
        if written is not None:
            keep(record, written)
        return written is not None

    def _keep_task(self, task: Task, revision: int) -> None:
        self.task, self._task_revision = task, revision

    def _keep_step(self, step: DurableStep, revision: int) -> None:
        self.step, self._step_revision = step, revision

    def _with_noted(self, facts: Iterable[Fact]) -> tuple[Fact, ...]:
        noted, self._noted = self._noted, []
        return (*noted, *facts)


def _behind(known: tuple[Ordered, ...], new: Iterable[Ordered]) -> tuple[Ordered, ...]:
    """More references, numbered on."""
    numbered = [dataclasses.replace(ref, order=order) for order, ref in enumerate(new, len(known))]
    return known + tuple(numbered)


def _created_details(task: Task) -> dict[str, Any]:
    return {
        "model": task.model,
        "dialect": task.dialect,
        "input_digest": task.input_digest,
        "allow_after_start": task.allow_after_start,
        "max_recoveries": task.max_recoveries,
        "max_steps": task.max_steps,
        "tools": list(task.tool_names),
        "origin": task.origin or None,
    }
