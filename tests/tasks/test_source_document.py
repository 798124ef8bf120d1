"""The second source document: its own simulation, and its five probes (section 6 and 6.1)."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson
import pytest

from seamstream.recovery.policy import RecoveryPolicy
from seamstream.tasks import FileRef, OutputSchema, SourceRef, ToolContext, checksum, tool
from seamstream.tasks.reading import load_task
from seamstream.testing.faults import Fault
from tests.tasks.playing import ASK, TENANT, stage, until
from tests.tasks.scripted import calls, says
from tests.tasks.service import Service, booking_tool


@tool(side_effect="none")
async def weather(context: ToolContext, city: str) -> dict[str, Any]:
    return {"city": city, "tempC": 26}


def forecast(results: list[str]) -> Any:
    return says("final answer") if results else calls(("weather", {"city": "嘉兴"}), text="Let me look. ")


async def test_the_simulation() -> None:
    """One attempt fails after its first piece, the second one succeeds; the tool stands under its key."""
    async with stage(forecast, [weather], [Fault.reset(after_events=2)]) as played:
        task = await played.agent.submit(TENANT, ASK)
        await played.worker().drain()
        entries = await played.entries(task.task_id)
        [first, last] = await played.steps(task.task_id)
        requests_of_first_step = len(played.server.requests) - 1
        deletes = [await played.store.delete(TENANT, ("checkpoint", "x")) for _ in range(2)]
        answer = await played.agent.answer(TENANT, task.task_id)
    ledger = [entry for entry in entries if entry.step_id == "1" and entry.attempt]
    ends = {
        entry.attempt: entry
        for entry in ledger
        if entry.event.endswith(("after_start", "_succeeded")) and not entry.invocation_id
    }
    assert last.turn is not None
    assert {
        "providerCalls": requests_of_first_step,
        "text": answer,
        "ledger": [(attempt, end.event, end.details.get("error")) for attempt, end in sorted(ends.items())],
        "persistedTool": {
            "tool": first.tool_calls[0].tool_name,
            "result": orjson.loads(first.tool_calls[0].result or ""),
            "attempt": first.tool_calls[0].attempt,
        },
        "idempotentDelete": deletes == [False, False],
    } == {
        "providerCalls": 2,
        "text": "final answer",
        "ledger": [
            (1, "stream_failed_after_start", "ConnectionReset"),
            (2, "attempt_succeeded", None),
        ],
        "persistedTool": {"tool": "weather", "result": {"city": "嘉兴", "tempC": 26}, "attempt": 2},
        "idempotentDelete": True,
    }


@pytest.mark.parametrize("allowed", [True, False])
async def test_probe_1_a_second_attempt_only_if_it_is_allowed(allowed: bool) -> None:
    policy = RecoveryPolicy.agent(allow_after_start=allowed)
    async with stage(forecast, [weather], [Fault.reset(after_events=2)], policy=policy) as played:
        task = await played.agent.submit(TENANT, ASK)
        [envelope] = await played.worker().drain()
        entries = await played.entries(task.task_id)
        requests = len(played.server.requests)
    failed = [entry for entry in entries if entry.event == "stream_failed_after_start"]
    assert len(failed) == 1
    assert failed[0].details["emitted_chars"] == 3
    if allowed:
        assert (envelope.state, requests) == ("succeeded", 3)
    else:
        assert (envelope.state, requests) == ("terminal_failed", 1)
        assert entries[-1].event == "task_failed"


@pytest.mark.parametrize("asks", [True, False], ids=["query", "compensate"])
async def test_probe_2_done_by_the_service_but_not_answered(asks: bool) -> None:
    async with Service(loses={1}) as service:
        options = {} if asks else {"query": None}
        book = booking_tool(service.url, **options)
        script = lambda results: says("Done.") if results else calls(("book", {"hotel": "Ritz"}))  # noqa: E731
        async with stage(script, [book]) as played:
            task = await played.agent.submit(TENANT, ASK)
            await played.worker().drain()
            [first, _] = await played.steps(task.task_id)
            [unknown] = [e for e in await played.entries(task.task_id) if e.event == "tool_unknown"]
    assert unknown.details["idempotency_key"] == f"{task.task_id}:1-1:{task.mark}"
    assert first.tool_calls[0].resolution == ("query" if asks else "compensate")
    assert bool(service.booked) is asks
    assert [action for action, _ in service.calls] == ["book", "find" if asks else "cancel"]


async def test_probe_3_cancelling_ends_the_stream() -> None:
    async with stage(forecast, [weather], [Fault.stall(after_text=b"Let")]) as played:
        task = await played.agent.submit(TENANT, ASK)
        working = asyncio.ensure_future(played.worker().drain())
        async with asyncio.timeout(10):
            await until(lambda: bool(played.server.requests and played.server.requests[0].sent))
            await played.agent.cancel(TENANT, task.task_id)
            [envelope] = await working
            await until(lambda: played.server.requests[0].client_left_at is not None)
        entries = await played.entries(task.task_id)
    assert envelope.state == "aborted"
    events = [entry.event for entry in entries if entry.step_id == "1"]
    assert events[-3:] == ["attempt_failed", "attempt_usage", "step_failed"]
    assert len(played.server.requests) == 1


async def test_probe_3_cancelling_ends_the_tool_and_its_request() -> None:
    arrived, left = asyncio.Event(), asyncio.Event()

    @tool(side_effect="idempotent", allow_manual=True)
    async def send(context: ToolContext) -> None:
        arrived.set()
        try:
            await asyncio.Event().wait()
        finally:
            left.set()

    async with stage(lambda results: calls(("send", {})), [send]) as played:
        task = await played.agent.submit(TENANT, ASK)
        working = asyncio.ensure_future(played.worker().drain())
        async with asyncio.timeout(10):
            await arrived.wait()
            await played.agent.cancel(TENANT, task.task_id)
            [envelope] = await working
        entries = await played.entries(task.task_id)
    assert left.is_set()
    assert envelope.state == "aborted"
    events = [entry.event for entry in entries]
    assert events[-5:] == ["tool_started", "tool_unknown", "tool_manual", "step_failed", "task_aborted"]
    assert entries[-1].details["manual"] == ["1-1"]


async def test_probe_4_every_attempt_has_its_own_bill() -> None:
    async with stage(
        forecast,
        [weather],
        [Fault.reset(after_events=2)],
        dialect="anthropic",
        request={"max_tokens": 100},
    ) as played:
        task = await played.agent.submit(TENANT, ASK)
        await played.worker().drain()
        entries = await played.entries(task.task_id)
    bills = {entry.attempt: entry.details for entry in entries if entry.event == "attempt_usage"}
    assert set(bills) == {1, 2, 3}
    assert [bills[attempt]["estimated"] for attempt in (1, 2, 3)] == [True, False, False]
    for bill in bills.values():
        assert bill["cost"] == pytest.approx((bill["input_tokens"] + 2 * bill["output_tokens"]) / 1e6)
        assert bill["cache_read_tokens"] == 0
    total = sum(bill["cost"] for bill in bills.values())
    assert entries[-1].details["cost"] == pytest.approx(total)


async def test_probe_5_files_sources_and_schema_are_read_back_as_they_were() -> None:
    files = [FileRef(name, at, checksum(name.encode()), 1.0 + at, 99.0) for at, name in enumerate("cab")]
    sources = [SourceRef(f"https://{name}.example", at, 2.0 + at) for at, name in enumerate("zyx")]
    output = OutputSchema("v3", {"type": "object", "required": ["sum"]})

    @tool(side_effect="none")
    async def look(context: ToolContext) -> str:
        for name in "qp":
            context.add_file(name, checksum(name.encode()), produced_at_s=5.0)
            context.add_source(f"https://{name}.example", retrieved_at_s=6.0)
        return "seen"

    script = lambda results: says('{"sum": 3}') if len(results) == 2 else calls(("look", {}), ("look", {}))  # noqa: E731
    async with stage(script, [look], output=output) as played:
        task = await played.agent.submit(TENANT, ASK, files=files, sources=sources)
        [envelope] = await played.worker().drain()
        again = await load_task(played.store, TENANT, task.task_id)
        [first, last] = await played.steps(task.task_id)
    assert envelope.state == "succeeded"
    assert list(again.files) == files
    assert list(again.sources) == sources
    assert [(file.id, file.order) for file in first.files] == [("q", 0), ("p", 1), ("q", 2), ("p", 3)]
    assert [source.order for source in first.sources] == [0, 1, 2, 3]
    assert last.structured_output is not None
    assert (last.structured_output.schema_version, last.structured_output.value) == ("v3", '{"sum": 3}')


async def test_a_task_of_another_schema_version_is_not_read() -> None:
    old, new = OutputSchema("v1", {"type": "object"}), OutputSchema("v2", {"type": "array"})
    async with stage(lambda results: says("{}"), output=old) as played:
        task = await played.agent.submit(TENANT, ASK)
        played.agent.output = new
        [envelope] = await played.worker().drain()
        assert envelope.state == "waiting"
        assert "schema v1" in (await load_task(played.store, TENANT, task.task_id)).why
        assert played.server.requests == []
        played.agent.output = old
        await played.agent.enqueue(TENANT, task.task_id)
        [envelope] = await played.worker().drain()
        assert envelope.state == "succeeded"


@pytest.mark.parametrize(
    ("text", "why"), [("no JSON", "the answer is no JSON"), ('{"x": 1}', "'sum' is a required property")]
)
async def test_an_answer_that_does_not_fit_is_no_success(text: str, why: str) -> None:
    output = OutputSchema("v1", {"type": "object", "required": ["sum"]})
    async with stage(lambda results: says(text), output=output) as played:
        task = await played.agent.submit(TENANT, ASK)
        [envelope] = await played.worker().drain()
        assert envelope.state == "terminal_failed"
        assert why in (await load_task(played.store, TENANT, task.task_id)).why
