"""How a task comes into its store, and its job into the queue: none is accepted and then forgotten."""

from __future__ import annotations

from typing import Any, Final

import orjson

from ..clock import Clock
from ..errors import ConfigurationError, StoreError
from ..stores.backend import Backend
from .journal import TaskJournal
from .reading import QUEUE, task_key
from .records import Task, decode_task, encode

MAX_MISSING: Final = 5
"""A job is delivered so often without its task being there before it is dropped."""
MISSING_REST_S: Final = 1.0
"""How long it rests each time."""
_SURE_S: Final = MISSING_REST_S * (MAX_MISSING - 1) / 2
"""So long after it was put there, a job is still in the queue whether or not its task is."""


async def create_task(backend: Backend, tenant: str, task: Task, clock: Clock) -> Task:
    """Store a new task and its job. StoreError when the id is taken, ConfigurationError for a task that could
    not be read again.
    """
    _check_readable(task)
    if await backend.get(tenant, task_key(task.task_id)) is not None:
        raise StoreError(f"there is a task {task.task_id!r} already")
    # The job comes first: a task without one would never be worked on, a job without a task does no harm.
    asked_at = clock.monotonic()
    await enqueue(backend, tenant, task.task_id)
    journal = await TaskJournal.create(backend, tenant, task, clock)
    if clock.monotonic() - asked_at > _SURE_S:  # workers may have given the job up; a second one does no harm
        await enqueue(backend, tenant, task.task_id)
    return journal.task


async def enqueue(backend: Backend, tenant: str, task_id: str) -> Any:
    """Have some worker look at a task."""
    return await backend.enqueue(tenant, QUEUE, orjson.dumps(task_id))


def _check_readable(task: Task) -> None:
    try:
        if decode_task(encode(task)) != task:
            raise ConfigurationError(f"task {task.task_id!r} would not be read as it was given")
    except (TypeError, StoreError) as error:
        raise ConfigurationError(f"this task could not be read again: {error}") from error
