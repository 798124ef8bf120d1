"""Tools that give back what JSON has no form for, that no context fits, or whose approval is no answer."""

from __future__ import annotations

import functools
import sys
from typing import Any

import pytest

from seamstream.errors import ConfigurationError
from seamstream.stores.memory_backend import MemoryBackend
from seamstream.tasks import Agent, Executed, ModelTarget, OutputSchema, Pending, ToolContext, tool
from tests.tasks.playing import ASK, TENANT, stage
from tests.tasks.scripted import calls, says


class Unspeakable:
    def __str__(self) -> str:
        raise RuntimeError("no words")


CYCLE: list[Any] = []
CYCLE.append(CYCLE)
ODD = [
    ({1: "a", 2: "b"}, '{"1":"a","2":"b"}'),
    ({(1, 2): 3}, '"{(1, 2): 3}"'),
    (2**70, "1180591620717411303424"),
    ("caf\udce9.txt", '"caf\ufffd.txt"'),
    (CYCLE, '"[[...]]"'),
    (Unspeakable(), '"<Unspeakable>"'),
]


def once(results: list[str]) -> Any:
    return says("; ".join(results)) if results else calls(("act", {}))


@pytest.mark.parametrize(("value", "told"), ODD, ids=[told for _, told in ODD])
@pytest.mark.parametrize("asked", [False, True], ids=["returned", "queried"])
async def test_every_result_is_kept_and_nothing_is_done_again(value: Any, told: str, asked: bool) -> None:
    runs = 0

    async def find(context: ToolContext) -> Executed:
        return Executed(value)

    @tool(side_effect="idempotent", query=find)
    async def act(context: ToolContext) -> Any:
        nonlocal runs
        runs += 1
        if asked:
            raise OSError("the answer was lost")
        return value

    async with stage(once, [act]) as played:
        task = await played.agent.submit(TENANT, ASK)
        [envelope] = await played.worker().drain()
        [first, _] = await played.steps(task.task_id)
        answer = await played.agent.answer(TENANT, task.task_id)
    assert (envelope.state, runs, answer) == ("succeeded", 1, told)
    assert first.tool_calls[0].resolution == ("query" if asked else None)


async def test_an_error_that_is_no_text_is_told_all_the_same() -> None:
    class Wordless(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no words")

    @tool(side_effect="none")
    async def act(context: ToolContext) -> None:
        raise Wordless

    @tool(side_effect="none", name="act")
    async def act_on_file(context: ToolContext) -> None:
        raise OSError("no file caf\udce9.txt")

    for broken, told in ((act, "Wordless: <Wordless>"), (act_on_file, "OSError: no file caf\ufffd.txt")):
        async with stage(once, [broken]) as played:
            task = await played.agent.submit(TENANT, ASK)
            await played.worker().drain()
            assert await played.agent.answer(TENANT, task.task_id) == told


async def test_a_query_without_await_is_believed() -> None:
    @tool(side_effect="idempotent", query=lambda context: Executed("done"))
    async def act(context: ToolContext) -> None:
        raise OSError("the answer was lost")

    async with stage(once, [act]) as played:
        task = await played.agent.submit(TENANT, ASK)
        await played.worker().drain()
        assert await played.agent.answer(TENANT, task.task_id) == '"done"'


async def test_a_job_that_has_no_id_is_no_job() -> None:
    polled: list[str] = []

    @tool(side_effect="idempotent", allow_manual=True, job=lambda context, job_id: polled.append(job_id))
    async def act(context: ToolContext) -> None:
        return None

    async with stage(once, [act]) as played:
        task = await played.agent.submit(TENANT, ASK)
        [envelope] = await played.worker().drain()
        [step] = await played.steps(task.task_id)
    assert (envelope.state, polled) == ("waiting_compensation", [])
    assert step.tool_calls[0].manual


@pytest.mark.parametrize("answer", [True, False, None, "approved", "denied"])
async def test_only_its_word_approves_a_call(answer: Any) -> None:
    runs = 0

    @tool(side_effect="idempotent", allow_manual=True)
    async def act(context: ToolContext) -> None:
        nonlocal runs
        runs += 1

    async with stage(once, [act], approve=lambda context, name, arguments: answer) as played:
        task = await played.agent.submit(TENANT, ASK)
        for _ in range(2):
            [envelope] = await played.worker().drain()
            [step] = await played.steps(task.task_id)
            assert (envelope.state, step.tool_calls[0].approved, runs) == ("waiting", None, 0)
            await played.agent.enqueue(TENANT, task.task_id)


async def test_files_and_sources_that_no_record_can_hold_are_refused_where_they_are_told() -> None:
    context = ToolContext(TENANT, "t", "1-1", "c")
    wrong: Any = "2030-01-01"
    with pytest.raises(TypeError, match="seconds since the epoch are wanted, not str"):
        context.add_file("f", "sha256:0", produced_at_s=wrong)
    with pytest.raises(TypeError, match="seconds since the epoch are wanted, not float"):
        context.add_source("https://a", retrieved_at_s=float("nan"))
    with pytest.raises(TypeError, match="text is wanted, not bytes"):
        context.add_source(b"https://a", retrieved_at_s=1.0)  # type: ignore[arg-type]
    assert (context.files, context.sources) == ([], [])
    context.add_file("caf\udce9", "sha256:0", produced_at_s=1, expires_at_s=2)
    assert [(file.id, file.produced_at_s) for file in context.files] == [("caf\ufffd", 1.0)]


async def no_context() -> None: ...
async def argument_first(city: str) -> None: ...
async def only_by_name(*, city: str) -> None: ...
async def any_number(context: ToolContext, *cities: str) -> None: ...
async def unknown_type(context: ToolContext, city: "Nowhere") -> None: ...  # type: ignore[name-defined]  # noqa: F821, UP037


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (no_context, "no_context: its first parameter must take the ToolContext"),
        (argument_first, "argument_first: its first parameter must take the ToolContext"),
        (only_by_name, "only_by_name: its first parameter must take the ToolContext"),
        (any_number, "any_number: parameter cities cannot be given by its name"),
        (unknown_type, "unknown_type: its annotations cannot be read"),
    ],
)
def test_a_function_that_could_not_be_called_is_refused(function: Any, why: str) -> None:
    with pytest.raises(ConfigurationError, match=why):
        tool(side_effect="none")(function)


def test_a_wrong_schema_is_refused_before_a_model_is_asked() -> None:
    wrong = {"type": "object", "properties": {"at": {"type": "plaice"}}}
    with pytest.raises(ConfigurationError, match="tool no_context: its JSON schema is wrong: 'plaice'"):
        tool(side_effect="none", parameters=wrong)(no_context)
    with pytest.raises(ConfigurationError, match="output v1: its JSON schema is wrong: 'plaice'"):
        OutputSchema("v1", wrong)
    with pytest.raises(ConfigurationError, match="has no name"):
        tool(side_effect="none", parameters={})(functools.partial(no_context))


def test_without_jsonschema_a_tool_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jsonschema", None)
    with pytest.raises(ConfigurationError, match=r"pip install 'seamstream\[tasks\]'"):
        tool(side_effect="none", parameters={})(no_context)


@pytest.mark.parametrize("after_s", [-1.0, float("nan"), float("inf")])
def test_a_job_is_asked_for_again_in_seconds(after_s: float) -> None:
    with pytest.raises(ConfigurationError, match="after_s is a number of seconds"):
        Pending(after_s=after_s)


@pytest.mark.parametrize("options", [{"max_steps": 0}, {"max_recoveries": -1}], ids=str)
async def test_a_budget_that_allows_nothing_is_refused(options: dict[str, int]) -> None:
    with pytest.raises(ConfigurationError, match="max_steps must be above 0"):
        Agent(ModelTarget("http://127.0.0.1/v1/chat/completions"), [], MemoryBackend(), **options)


async def test_a_tool_that_would_end_the_process_has_failed() -> None:
    @tool(side_effect="none")
    async def act(context: ToolContext) -> None:
        sys.exit("usage: act [-h]")

    async with stage(once, [act]) as played:
        task = await played.agent.submit(TENANT, ASK)
        await played.worker().drain()
        told = await played.agent.answer(TENANT, task.task_id)
    assert told == "RuntimeError: SystemExit: usage: act [-h]"


async def test_a_hook_that_would_end_the_process_has_failed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with stage(once, [], credentials=lambda tenant: sys.exit(3)) as played:
        await played.agent.submit(TENANT, ASK)
        assert await played.worker().drain() == []
    assert "RuntimeError: SystemExit: 3" in caplog.text
