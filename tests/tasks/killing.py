"""Kills workers on purpose: a task with three steps and two writes, a worker that ends at a seeded moment,
and another one that takes over. What must hold afterwards is asserted here; the table of many runs is
`make kill-test`.
"""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import os
import random
import signal
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Literal

from aiohttp import web

from seamstream.errors import StoreError
from seamstream.stores.backend import Backend
from seamstream.stores.url import open_store
from seamstream.tasks import Agent, Entry, ModelTarget, read_ledger
from seamstream.tasks.audit import Audit, audit
from seamstream.tasks.ledger import chain_problems, ledger_key
from seamstream.tasks.open_attempts import lost_attempts
from seamstream.tasks.reading import is_closed
from seamstream.testing import FaultServer
from tests.tasks.mortal_worker import Job, main
from tests.tasks.scripted import ScriptedModel
from tests.tasks.service import Service
from tests.tasks.test_taking_over import ASK, BOOKED, NOT_BOOKED, script

WRITES = 44
"""A little more than a worker's writes for the whole task; beyond its last one nothing happens."""
ENDS_S = 60.0
TOGETHER = 6
TENANT = "acme"

_PROCESSES = multiprocessing.get_context("forkserver")
_PROCESSES.set_forkserver_preload(["tests.tasks.mortal_worker"])

Place = Literal["write", "request", "answer"]


@dataclass(frozen=True)
class Kill:
    """When the first worker ends: at a write to its store, or while the service has its `at`th booking,
    before or after it has done it.
    """

    place: Place
    at: int
    moment: Literal["before", "after"] = "before"
    freezes: bool = False

    @classmethod
    def seeded(cls, seed: int, *, freezes: bool = False) -> Kill:
        """Four of five at a write; the moments of all seeds are spread over all of them."""
        chance = random.Random(seed)
        if seed % 5 == 4:
            return cls(chance.choice(("request", "answer")), chance.choice((1, 2)), freezes=freezes)
        moment: Literal["before", "after"] = "before" if seed % 2 else "after"
        return cls("write", 1 + seed * 7 % WRITES, moment, freezes)


@dataclass
class Trial:
    """One task and what became of it."""

    kill: Kill
    entries: list[Entry] = field(default_factory=list)
    service: Service = field(default_factory=Service)
    failing: dict[str, str] = field(default_factory=dict)
    """Rows of the audit that do not pass though they need no release file, and why."""
    answer: str = ""
    requests: int = 0
    killed: bool = False
    exit_code: int | None = None
    """Of the worker that was thawed, or that ended the task."""

    @property
    def right(self) -> bool:
        """Does the answer say what the service has done?"""
        return self.answer == (BOOKED if len(self.service.booked) == 2 else NOT_BOOKED)

    def count(self, event: str) -> int:
        return sum(entry.event == event for entry in self.entries)


class LethalService(Service):
    """A service whose client may end, or freeze, while it has its request."""

    def __init__(self, kill: Kill) -> None:
        super().__init__()
        self.kill = kill
        self.end: Callable[[], None] = lambda: None

    def _book(self, request: web.BaseRequest, key: str) -> web.StreamResponse:
        chosen = sum(action == "book" for action, _ in self.calls) == self.kill.at
        if chosen and self.kill.place == "request":
            self.end()
        answer = super()._book(request, key)
        if chosen and self.kill.place == "answer":
            self.end()
        return answer


@contextmanager
def worker_process(job: Job) -> Iterator[BaseProcess]:
    """A worker in a process of its own, until SIGTERM makes it hand over, or SIGKILL."""
    process = _PROCESSES.Process(target=main, args=(job,))
    process.start()
    try:
        yield process
    finally:
        if process.is_alive():
            process.kill()
        process.join()


async def play_all(store_url: str, kills: Iterable[Kill]) -> list[Trial]:
    """Some trials at a time, each with a tenant of its own."""
    free = asyncio.Semaphore(TOGETHER)

    async def one(kill: Kill) -> Trial:
        async with free:
            return await play(store_url, kill)

    return list(await asyncio.gather(*map(one, kills)))


async def play(store_url: str, kill: Kill, *, disturb: Callable[[], None] | None = None) -> Trial:
    """One task whose first worker ends as told. `disturb` is called once the second one has begun."""
    service = LethalService(kill)
    trial = Trial(kill, service=service)
    tenant = f"{TENANT}-{random.SystemRandom().getrandbits(48):x}"
    with tempfile.NamedTemporaryFile() as acknowledged:
        async with FaultServer(ScriptedModel(script)) as model, service, open_store(store_url) as store:
            target = ModelTarget(model.url_for("openai-chat"), {"model": "test-model"})
            async with Agent(target, [], store) as agent:
                task_id = (await agent.submit(tenant, ASK)).task_id
                at = kill.at if kill.place == "write" else 0
                urls = (store_url, target.url, service.url, tenant, acknowledged.name)
                first, second = Job(*urls, at, kill.moment, kill.freezes), Job(*urls)
                with worker_process(first) as doomed:
                    service.end = lambda: _signal(doomed, kill)
                    await _until(lambda: _stopped(doomed, kill), store, tenant, task_id)
                    trial.killed = _stopped(doomed, kill)
                    with worker_process(second) as heir:
                        if disturb is not None:
                            await _until(_grows(acknowledged.name), store, tenant, task_id)
                            await asyncio.to_thread(disturb)
                        await _until(lambda: False, store, tenant, task_id)
                        trial.exit_code = await _end(heir)
                    before = await store.read(tenant, ledger_key(task_id))
                    if kill.freezes and trial.killed:
                        _signal(doomed, kill, thaw=True)
                        trial.exit_code = await _end(doomed)
                    after = await store.read(tenant, ledger_key(task_id))
                    assert after == before, "a late write came through"
                trial.entries = await read_ledger(store, tenant, task_id)
                trial.failing = failing_rows(await audit(store, tenant, task_id, now_s=agent.clock.wall()))
                trial.answer = await agent.answer(tenant, task_id)
                trial.requests = len(model.requests)
                kept = {entry.value.hex() for entry in await store.read(tenant, ledger_key(task_id))}
                told = acknowledged.read().decode().split()
                assert len(told) > 10
                assert set(told) <= kept, "the store has lost what it had acknowledged"
    check(trial)
    return trial


def failing_rows(audited: Audit) -> dict[str, str]:
    """Those that the store alone can judge."""
    by_release = ("recovery switch", "cancellation", "versions", "rollback drills")
    judged = [row for row in audited.rows if row.name not in by_release]
    return {row.name: str(row.notes) for row in judged if row.verdict != "pass"}


def check(trial: Trial) -> None:
    """Whatever happened, this holds."""
    entries, service = trial.entries, trial.service
    assert trial.failing == {}
    assert chain_problems(entries) == []
    assert lost_attempts(entries) == []
    assert trial.count("workflow_succeeded") == 1
    assert service.repeated == []
    keys = [key for action, key in service.calls if action == "book"]
    assert len(keys) == len(set(keys)), "a write was sent twice"
    assert trial.right
    began = [entry for entry in entries if entry.event == "tool_started"]
    given = {entry.invocation_id: entry.details["idempotency_key"] for entry in began}
    for entry in entries:
        if entry.event in ("tool_succeeded", "tool_failed"):
            key = given[entry.invocation_id]
            assert (key in service.booked) == (entry.event == "tool_succeeded"), "the service says otherwise"
    assert trial.requests <= trial.count("attempt_started")
    assert trial.count("recovery_started") <= entries[0].details["max_recoveries"]
    for at, entry in enumerate(entries):
        if entry.event == "tool_unknown":
            assert trial.killed
            before = entries[:at]
            started = max(i for i, e in enumerate(before) if e.event == "tool_started")
            assert any(e.event == "task_taken_over" for e in before[started:]), "nobody was killed in between"
    assert trial.exit_code == 0


async def _until(stopped: Callable[[], bool], store: Backend, tenant: str, task_id: str) -> None:
    """Wait until the task is over and its ledger knows, or until `stopped`."""
    async with asyncio.timeout(ENDS_S):
        while not stopped():
            with contextlib.suppress(StoreError):  # its server may be away
                if await is_closed(store, tenant, task_id):
                    return
            await asyncio.sleep(0.05)


def _grows(path: str) -> Callable[[], bool]:
    """Has the file grown since?"""
    size = os.path.getsize(path)
    return lambda: os.path.getsize(path) > size


def _stopped(process: BaseProcess, kill: Kill) -> bool:
    if not kill.freezes:
        return not process.is_alive()
    return Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


def _signal(process: BaseProcess, kill: Kill, *, thaw: bool = False) -> None:
    number = signal.SIGCONT if thaw else signal.SIGSTOP if kill.freezes else signal.SIGKILL
    if process.pid is not None and process.is_alive():
        os.kill(process.pid, number)


async def _end(process: BaseProcess) -> int | None:
    """Let a worker hand over, and return its exit status."""
    process.terminate()
    await asyncio.to_thread(process.join, 30.0)
    return process.exitcode
