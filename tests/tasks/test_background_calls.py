"""A background answer of which one call is whole, and whose server has nothing of the rest."""

from __future__ import annotations

from typing import Any

from seamstream.tasks import ToolContext, tool
from seamstream.tasks.audit import audit
from seamstream.testing import Fault
from tests.tasks.killing import failing_rows
from tests.tasks.playing import TENANT, stage
from tests.tasks.scripted import calls, says

ASK = {"input": "Two of them.", "background": True, "store": True}


@tool(side_effect="none")
async def look(context: ToolContext, place: str) -> str:
    return f"{place} is there"


def script(results: list[str]) -> Any:
    return (
        says("Seen.")
        if results
        else calls(("look", {"place": "Oslo"}), ("look", {"place": "a very long name"}))
    )


async def test_the_whole_call_runs_and_the_failed_attempt_is_on_record() -> None:
    faults = [Fault.reset(after_text=b"very long")]
    options: dict[str, Any] = {"dialect": "openai-responses", "server": {"background": "nothing"}}
    async with stage(script, [look], faults, **options) as on:
        task = await on.agent.submit(TENANT, ASK)
        [envelope] = await on.worker().drain()
        assert envelope.state == "succeeded"
        [first, _] = await on.steps(task.task_id)
        assert [call.arguments for call in first.tool_calls] == ['{"place": "Oslo"}']
        audited = await audit(on.store, TENANT, task.task_id, now_s=on.agent.clock.wall())
        assert failing_rows(audited) == {}
