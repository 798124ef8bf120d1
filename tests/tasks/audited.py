"""A task that passes its audit, and the means to spoil its records and its ledger behind its back."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import orjson

from seamstream.clock import SystemClock
from seamstream.recovery.policy import RecoveryPolicy
from seamstream.stores.backend import Backend
from seamstream.tasks import Agent, ModelTarget, OutputSchema, Price, ResultStore, ToolContext, Worker, tool
from seamstream.tasks.audit import Audit, Drill, Provider, RecoveryDecision, Release, Row, audit
from seamstream.tasks.audit.release import CANCEL_REACHES
from seamstream.tasks.ledger import Entry, Ledger, ledger_key, read_ledger
from seamstream.tasks.reading import step_key
from seamstream.tasks.records import DurableStep, Fact, decode_step, encode
from seamstream.tasks.versions import versions_of
from seamstream.testing import Fault, FaultServer
from seamstream.testing.answer import Answer
from tests.tasks.scripted import ScriptedModel, calls, says
from tests.tasks.service import Service, booking_tool

ASK = {"messages": [{"role": "user", "content": "Read the guide, then book."}]}
MODEL = "test-model"
POLICY = RecoveryPolicy.agent()
PRICES = {MODEL: Price(input=3.0, output=15.0)}
SCHEMA = OutputSchema("v1", {"type": "object", "required": ["booked"]})
LARGE = "x" * 2000
INLINE_BYTES = 1000
Facts = list[Fact]


@tool(side_effect="none")
async def guide(context: ToolContext, city: str) -> str:
    """A guide of a city."""
    context.add_file("map", "sha256:0", produced_at_s=1.0)
    context.add_file("list", "sha256:1", produced_at_s=2.0)
    context.add_source(f"https://guide.example/{city}", retrieved_at_s=3.0)
    context.add_source("https://guide.example/hotels", retrieved_at_s=4.0)
    return LARGE


def script(results: list[str]) -> Answer:
    if not results:
        return calls(("guide", {"city": "Köln"}), text="Let me look into the guide first. ")
    if len(results) == 1:
        return calls(("book", {"hotel": "Ritz"}))
    return says('{"booked": "Ritz"}')


@dataclasses.dataclass
class Case:
    """A finished task in a store, with what its audit is given."""

    store: Backend
    task_id: str
    results: ResultStore
    release: Release
    service_url: str
    now_s: float

    async def audit(self, *, expected: str | None = None) -> Audit:
        return await audit(
            *(self.store, "acme", self.task_id),
            now_s=self.now_s,
            release=self.release,
            results=self.results,
            expected=expected,
        )

    async def verdicts(self) -> dict[int, str]:
        return {row.number: row.verdict for row in (await self.audit()).rows}

    async def row(self, number: int) -> Row:
        return (await self.audit()).rows[number - 1]

    async def entries(self) -> list[Entry]:
        return await read_ledger(self.store, "acme", self.task_id)

    async def rewrite(self, edit: Callable[[Facts], Facts]) -> None:
        """A ledger with other facts whose chain is right: what a wrong program would have written."""
        names = [field.name for field in dataclasses.fields(Fact)]
        facts = [Fact(**{name: getattr(entry, name) for name in names}) for entry in await self.entries()]
        await self.store.drop("acme", ledger_key(self.task_id))
        await Ledger(self.store, "acme", self.task_id).append(edit(facts))

    async def tamper(self, seq: int, **changes: Any) -> None:
        """Change what stands in one entry, hash and all the others as they are."""
        entries = [entry.to_dict() for entry in await self.entries()]
        entries[seq - 1].update(changes)
        await self.store.drop("acme", ledger_key(self.task_id))
        await self.store.append("acme", ledger_key(self.task_id), [orjson.dumps(each) for each in entries])

    async def spoil_step(self, number: int, edit: Callable[[DurableStep], DurableStep]) -> None:
        key = step_key(self.task_id, number)
        record = await self.store.get("acme", key)
        assert record is not None
        await self.store.put("acme", key, encode(edit(decode_step(record.value))))


async def finished(store: Backend, objects: Path, **options: Any) -> Case:
    """A task that ran in this process over real connections, one of them cut."""
    results = ResultStore.from_url(objects.as_uri(), inline_bytes=INLINE_BYTES)
    async with (
        Service() as service,
        FaultServer(ScriptedModel(script), [Fault.reset(after_events=5)]) as model,
    ):
        target = ModelTarget(model.url_for("openai-chat"), {"model": MODEL}, policy=POLICY, prices=PRICES)
        tools = [guide, booking_tool(service.url)]
        async with Agent(target, tools, store, results=results, output=SCHEMA) as agent:
            task = await agent.submit("acme", ASK, **options)
            assert [done.state for done in await Worker(agent, ["acme"]).drain()] == ["succeeded"]
        release = release_for(model.url)
        return Case(store, task.task_id, results, release, service.url, SystemClock().wall())


def release_for(provider: str) -> Release:
    """The release that such a task satisfies."""
    day = date(2026, 1, 1)
    layers = {name: Drill("Ada", day, passed=True) for name in ("code", "task", "side_effect")}
    return Release(
        recovery=RecoveryDecision(True, 8, versions_of(POLICY)["policy_digest"]),
        versions=versions_of(POLICY)["versions"],
        providers=(Provider(provider, (MODEL,)),),
        drills={"cancel": Drill("Ada", day, passed=True, covers=CANCEL_REACHES), **layers},
        undo={"book": "the service's cancel"},
    )
