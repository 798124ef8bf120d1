"""`Agent`: a model, tools and a store. What it is asked to do are tasks, which any process can go on with.

async with open_store("sqlite:///tasks.db") as store, Agent(model, [book], store) as agent:
    task = await agent.submit("acme", {"messages": [...]})
    await Worker(agent, ["acme"]).drain()
    print(await agent.answer("acme", task.task_id))
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

import orjson
from aiohttp import ClientSession

from ..clock import Clock, SystemClock
from ..errors import ConfigurationError, StoreError
from ..recovery.digests import digest
from ..stores.backend import Backend, Key
from ..stores.backend_checkpoints import BackendCheckpointStore
from ..types import Event
from .creating import create_task, enqueue
from .invoking import Approve
from .ledger import ledger_key, read_ledger
from .reading import load_steps, load_task, step_key, task_key, worked_key
from .records import Envelope, FileRef, SourceRef, Task
from .results import ResultStore
from .schema import check_schema
from .target import ModelTarget
from .tools import Tool, Toolbox

DEFAULT_MAX_STEPS: Final = 20
DEFAULT_MAX_RECOVERIES: Final = 8


@dataclass(frozen=True, slots=True)
class OutputSchema:
    """The JSON schema that the last answer must fit, and its version: a task that began under another one is
    not read by this one. ConfigurationError when it is no JSON schema.
    """

    version: str
    schema: Mapping[str, Any]

    def __post_init__(self) -> None:
        check_schema(self.schema, f"output {self.version}")


class Agent:
    """Everything that work on tasks needs. `store` and `session` stay the caller's to close, if given.

    ConfigurationError for tools with secret arguments on a store that does not encrypt, and for large results
    in clear beside one that does; also for a budget that would allow nothing.
    """

    def __init__(
        self,
        model: ModelTarget,
        tools: Iterable[Tool],
        store: Backend,
        *,
        results: ResultStore | None = None,
        approve: Approve | None = None,
        output: OutputSchema | None = None,
        max_steps: int = DEFAULT_MAX_STEPS,
        max_recoveries: int = DEFAULT_MAX_RECOVERIES,
        session: ClientSession | None = None,
        clock: Clock | None = None,
        on_event: Callable[[Event], None] | None = None,
    ) -> None:
        if max_steps < 1 or max_recoveries < 0:
            raise ConfigurationError(
                f"max_steps must be above 0, max_recoveries not below: {max_steps!r}, {max_recoveries!r}"
            )
        self.model = model
        self.toolbox = Toolbox(tools)
        self.store = store
        self.results = results
        self.approve = approve
        self.output = output
        self.max_steps = max_steps
        self.max_recoveries = max_recoveries
        self.clock = clock or SystemClock()
        self.on_event = on_event
        self._given = session
        self._session = session
        self._checkpoints: dict[str, BackendCheckpointStore] = {}
        secret = [tool.name for tool in self.toolbox if tool.secret]
        if secret and not getattr(store, "encrypts", False):
            raise ConfigurationError(f"tool {secret[0]} has secret arguments: use an EncryptedBackend")
        if getattr(store, "encrypts", False) and results is not None and not results.encrypts:
            raise ConfigurationError("the store is encrypted, large results are not: ResultStore(cipher=...)")

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._session is not None and self._given is None:
            await self._session.close()

    @property
    def session(self) -> ClientSession:
        """The session that model requests go through."""
        if self._session is None:
            self._session = ClientSession()
        return self._session

    def checkpoints(self, tenant: str) -> BackendCheckpointStore:
        """Where a tenant's answers in flight are kept."""
        if tenant not in self._checkpoints:
            self._checkpoints[tenant] = BackendCheckpointStore(self.store, tenant, clock=self.clock)
        return self._checkpoints[tenant]

    # ---------------------------------------------------------------- tasks

    async def submit(
        self,
        tenant: str,
        request: Mapping[str, Any],
        *,
        task_id: str | None = None,
        files: Iterable[FileRef] = (),
        sources: Iterable[SourceRef] = (),
        origin: str = "",
    ) -> Task:
        """Store a task and put it into the queue. `request` is a request body of the model's dialect, on top
        of the target's own members. StoreError when the id is taken, ConfigurationError for what is no JSON
        or could not be read again.
        """
        document = {**self.model.request, **request}
        try:
            body = orjson.dumps(document)
        except TypeError as error:
            raise ConfigurationError(f"the request is no JSON: {error}") from error
        task = Task(
            tenant=tenant,
            task_id=task_id or self.clock.uuid(),
            request=body.decode(),
            dialect=self.model.dialect,
            model=self.model.model_of(document),
            input_digest=digest(body),
            created_at_s=self.clock.wall(),
            max_steps=self.max_steps,
            max_recoveries=self.max_recoveries,
            allow_after_start=self.model.policy.allow_after_start,
            tool_names=self.toolbox.names,
            output_schema=self.output.version if self.output is not None else "",
            files=tuple(files),
            sources=tuple(sources),
            origin=origin,
        )
        return await create_task(self.store, tenant, task, self.clock)

    async def enqueue(self, tenant: str, task_id: str) -> None:
        """Have some worker look at a task."""
        await enqueue(self.store, tenant, task_id)

    async def cancel(self, tenant: str, task_id: str) -> None:
        """Have the task ended for good, by its worker if it has one. StoreError when there is none."""
        await load_task(self.store, tenant, task_id)
        await self.store.put(tenant, cancel_key(task_id), b"cancel")
        # A task that runs has a job, and its worker looks for the record; one that waits has none.
        if (await load_task(self.store, tenant, task_id)).state in ("waiting", "waiting_compensation"):
            await self.enqueue(tenant, task_id)

    async def forget(self, tenant: str, task_id: str) -> None:
        """Delete all that is kept of a task that is over, its ledger included; StoreError while it is not.

        The task's own record goes last, so that what was cut short can be done again.
        """
        if not (await load_task(self.store, tenant, task_id)).over:
            raise StoreError(f"task {task_id} is not over")
        for step in await load_steps(self.store, tenant, task_id):
            for call in step.tool_calls:
                if call.result_ref is not None and self.results is not None:
                    await self.results.delete(tenant, call.result_ref)
            await self.checkpoints(tenant).delete(f"{task_id}/{step.step_id}")
            await self.store.delete(tenant, step_key(task_id, step.number))
        await self.store.drop(tenant, ledger_key(task_id))
        await self.store.delete(tenant, cancel_key(task_id))
        await self.store.delete(tenant, worked_key(task_id))
        await self.store.delete(tenant, task_key(task_id))

    async def envelope(self, tenant: str, task_id: str) -> Envelope:
        """How the task stands."""
        task = await load_task(self.store, tenant, task_id)
        entries = await read_ledger(self.store, tenant, task_id)
        seq, last = (entries[-1].seq, entries[-1].hash) if entries else (0, "")
        return Envelope(
            task_id, task.final_attempt, task.state, f"ledger:{tenant}/{task_id}@{seq}:{last[:16]}"
        )

    async def answer(self, tenant: str, task_id: str) -> str:
        """The text of a task that succeeded, from its success record alone; StoreError for any other."""
        task = await load_task(self.store, tenant, task_id)
        steps = await load_steps(self.store, tenant, task_id)
        last = steps[-1].turn if steps else None
        if task.state != "succeeded" or last is None:
            raise StoreError(f"task {task_id} is {task.state}, it has no answer")
        return last.text


def cancel_key(task_id: str) -> Key:
    """The record by which anybody of the tenant asks for a task's end."""
    return ("cancel", task_id)
