"""Where a task's records stand in a store, and how anybody of its tenant reads them. Journals alone write."""

from __future__ import annotations

from typing import Final

from ..errors import StoreError
from ..stores.backend import Backend, Key
from .ledger import read_ledger
from .records import DurableStep, Task, decode_step, decode_task

QUEUE: Final = "tasks"
"""The queue of the backend that holds a job for each task that somebody must work on."""


def task_key(task_id: str) -> Key:
    return ("task", task_id)


def step_key(task_id: str, number: int) -> Key:
    """Steps sort by their number."""
    return ("step", task_id, f"{number:06d}")


def worked_key(task_id: str) -> Key:
    """The job by which a task is worked on now; no more than a hint."""
    return ("worked", task_id)


async def load_task(backend: Backend, tenant: str, task_id: str) -> Task:
    """Read a task; StoreError when this tenant has none of that id."""
    record = await backend.get(tenant, task_key(task_id))
    if record is None:
        raise StoreError(f"there is no task {task_id!r}")
    return decode_task(record.value)


async def load_steps(backend: Backend, tenant: str, task_id: str) -> list[DurableStep]:
    """A task's steps in their order."""
    return [decode_step(record.value) async for _, record in backend.scan(tenant, ("step", task_id))]


async def is_closed(backend: Backend, tenant: str, task_id: str) -> bool:
    """Is the task over, and has its ledger been told everything?"""
    task = await load_task(backend, tenant, task_id)
    if not task.over:
        return False
    told = {entry.id for entry in await read_ledger(backend, tenant, task_id)}
    return all(fact.id in told for fact in task.unlogged)
