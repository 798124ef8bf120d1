"""What people do with tasks from outside: look at them, end them, begin them anew, roll them back.

Everything goes through the same records and ledger as the workers' own changes, so nothing that a person did
is missing there.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

from ..clock import Clock
from ..recovery.policy import RecoveryPolicy
from ..stores.backend import Backend
from .agent import cancel_key
from .creating import create_task, enqueue
from .journal import TaskJournal
from .ledger import Entry, read_ledger
from .reading import load_steps, load_task
from .records import PERSON, WAITING, DurableStep, Task, TaskState, ToolInvocation, decode_task
from .refusal import Refused
from .versions import versions_of

ROLLED_BACK: Final = "rolled_back"


@dataclass(frozen=True, slots=True)
class Shown:
    """All that there is about one task."""

    task: Task
    steps: list[DurableStep]
    entries: list[Entry]


async def list_tasks(backend: Backend, tenant: str, *, states: Collection[TaskState] = ()) -> list[Task]:
    """The tenant's tasks, the oldest first; with `states` only those in one of them."""
    tasks = [decode_task(record.value) async for _, record in backend.scan(tenant, ("task",))]
    chosen = [task for task in tasks if not states or task.state in states]
    return sorted(chosen, key=lambda task: (task.created_at_s, task.task_id))


async def show_task(backend: Backend, tenant: str, task_id: str) -> Shown:
    """A task's records and ledger; StoreError when there is no such task."""
    task = await load_task(backend, tenant, task_id)
    steps = await load_steps(backend, tenant, task_id)
    return Shown(task, steps, await read_ledger(backend, tenant, task_id))


async def cancel_task(backend: Backend, tenant: str, task_id: str) -> Task:
    """Have a worker end the task for good, and return it as it stands now. Refused when it is over."""
    task = await load_task(backend, tenant, task_id)
    if task.over:
        raise Refused(f"task {task_id} is over: it is {task.state}")
    await backend.put(tenant, cancel_key(task_id), b"cancel")
    task = await load_task(backend, tenant, task_id)
    if task.state != "running":  # one that waits has no job, and nobody would look for the wish
        await enqueue(backend, tenant, task_id)
    return task


async def wake_task(backend: Backend, tenant: str, task_id: str) -> Task:
    """Have a worker look again at a task that waits: what it waited for may be there now, like a credential,
    a worker with its tools, or a result. Refused when it does not wait.
    """
    task = await load_task(backend, tenant, task_id)
    if task.state not in WAITING:
        raise Refused(f"task {task_id} is {task.state}: it does not wait")
    await enqueue(backend, tenant, task_id)
    return task


async def retry_task(
    backend: Backend, tenant: str, task_id: str, *, clock: Clock, new_id: str | None = None
) -> Task:
    """Begin a new task from the request of one that is over, and name that one as its origin. What the old
    one's tools did stays as it is; the new one's calls are new ones.

    Refused while the old one is not over, or while the outcome of one of its writes is unknown: the new task
    might do it a second time.
    """
    old = await load_task(backend, tenant, task_id)
    if not old.over:
        raise Refused(f"task {task_id} is {old.state}: cancel it or roll it back first")
    for call in open_writes(await load_steps(backend, tenant, task_id)):
        raise Refused(f"the outcome of tool call {call.id} ({call.tool_name}) is unknown: resolve it first")
    new = Task(
        **{name: getattr(old, name) for name in _KEPT},
        task_id=new_id or clock.uuid(),
        created_at_s=clock.wall(),
        origin=task_id,
    )
    return await create_task(backend, tenant, new, clock)


_KEPT: Final = (
    *("tenant", "request", "dialect", "model", "input_digest", "max_steps", "max_recoveries"),
    *("allow_after_start", "tool_names", "output_schema", "files", "sources"),
)
"""What a task that tries another one again takes over from it."""


async def end_task(backend: Backend, tenant: str, task_id: str, *, by: str, clock: Clock) -> Task:
    """Roll a task back: its unfinished step fails and so does the task, whoever works on it.

    Refused when it is over, or while a write is under way: cancel it then, so that its worker finds out.
    Calls in the manual queue stay there.
    """
    task = await load_task(backend, tenant, task_id)
    if task.over:
        raise Refused(f"task {task_id} is over: it is {task.state}")
    _check_no_write(await load_steps(backend, tenant, task_id))
    journal = await TaskJournal.take(backend, tenant, task_id, owner=f"{PERSON}:{by}", clock=clock)
    step = journal.step
    try:
        _check_no_write([step] if step is not None else [])
    except Refused:  # it began in between: a worker must see to it
        await enqueue(backend, tenant, task_id)
        raise
    if step is not None and step.state == "running":
        failed = journal.fact("step_failed", why=ROLLED_BACK)
        await journal.change_step(failed, state="failed", why=ROLLED_BACK)
    ended = journal.fact("task_failed", step_id="", why=ROLLED_BACK, by=by)
    return await journal.change_task(ended, state="terminal_failed", why=f"{ROLLED_BACK}: by {by}")


def open_writes(steps: Collection[DurableStep]) -> list[ToolInvocation]:
    """Calls that may have changed something, and nobody knows."""
    calls = [call for step in steps for call in step.tool_calls if call.side_effect != "none"]
    return [call for call in calls if call.status in ("started", "unknown")]


def _check_no_write(steps: Collection[DurableStep]) -> None:
    for call in open_writes(steps):
        if not call.manual:
            raise Refused(
                f"tool call {call.id} ({call.tool_name}) may be under way: cancel the task, so that its"
                " worker finds out what becomes of it"
            )


@dataclass(frozen=True, slots=True)
class CodeComparison:
    """What first worked on a task, beside what is installed here. `pins`: what to install to go back.
    `policy_differs`: None when no policy was given to compare.
    """

    ran: Mapping[str, str]
    installed: Mapping[str, str]
    pins: tuple[str, ...]
    policy_differs: bool | None


async def compare_code(
    backend: Backend, tenant: str, task_id: str, *, policy: RecoveryPolicy | None = None
) -> CodeComparison:
    """Compare the versions and the policy in a task's ledger with those here. Refused when no worker has told
    its versions yet.
    """
    await load_task(backend, tenant, task_id)
    entries = await read_ledger(backend, tenant, task_id)
    told = [entry.details for entry in entries if entry.event == "worker_versions"]
    if not told:
        raise Refused(f"no worker has begun with task {task_id}: there is nothing to go back to")
    here = versions_of(policy or RecoveryPolicy())
    ran: dict[str, str] = dict(told[0]["versions"])
    installed: dict[str, str] = here["versions"]
    differs = {name: version for name, version in ran.items() if installed.get(name) != version}
    return CodeComparison(
        *(ran, installed, tuple(f"{name}=={version}" for name, version in sorted(differs.items()))),
        policy_differs=None if policy is None else told[0]["policy_digest"] != here["policy_digest"],
    )
