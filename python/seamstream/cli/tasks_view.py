"""Tasks as people read them. Content (requests, answers, arguments, results, errors) only when asked for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from .screen import Screen

if TYPE_CHECKING:
    from ..tasks.ledger import Entry
    from ..tasks.operating import Shown
    from ..tasks.records import DurableStep, Task, ToolInvocation


def view_all(tasks: Sequence[Task], screen: Screen) -> None:
    """A line for each task."""
    header = ("task", "state", "created", "step", "attempts", "recoveries", "model")
    rows = [
        (
            *(task.task_id, task.state, _time(task.created_at_s), str(task.step), str(task.attempts)),
            *(f"{task.recoveries} of {task.max_recoveries}", task.model),
        )
        for task in tasks
    ]
    if rows:
        screen.table(header, [_printable(row) for row in rows])
    else:
        screen.line("No tasks.")


def view(shown: Shown, screen: Screen, *, content: bool) -> None:
    """All that there is about one task."""
    task = shown.task
    screen.line(_one_line(f"Task {task.task_id} of tenant {task.tenant} is {task.state}."), "bold")
    for name, value in _facts(task, content=content):
        screen.line(f"  {name:<12} {value}")
    for step in shown.steps:
        _view_step(step, screen, content=content)
    screen.line()
    _view_ledger(shown.entries, screen)


def _facts(task: Task, *, content: bool) -> Iterable[tuple[str, str]]:
    yield "created", _time(task.created_at_s)
    yield "model", _one_line(f"{task.model} ({task.dialect})")
    yield "attempts", f"{task.attempts}, {task.recoveries} of {task.max_recoveries} recoveries used"
    if task.why:
        yield "why", _one_line(task.why if content else task.why.partition(":")[0])
    if task.origin:
        yield "origin", _one_line(task.origin)
    if content:
        yield "request", _one_line(task.request)


def _view_step(step: DurableStep, screen: Screen, *, content: bool) -> None:
    screen.line()
    said = f", {len(step.turn.text)} characters" if step.turn is not None else ""
    left = f", {len(step.files)} files, {len(step.sources)} sources" if step.files or step.sources else ""
    screen.line(f"Step {step.step_id} is {step.state}{said}{left}", "bold")
    if content and step.turn is not None:
        screen.line(f"  text         {_one_line(step.turn.text)}")
    if step.tool_calls:
        header = ("call", "tool", "side effect", "status", "settled by", "result")
        screen.table(header, [_printable(_call_row(call)) for call in step.tool_calls])
    for call in step.tool_calls if content else ():
        screen.line(f"  {call.id} arguments {_one_line(call.arguments)}")
        screen.line(f"  {call.id} result    {_one_line(call.result or call.error or '-')}")


def _call_row(call: ToolInvocation) -> tuple[str, ...]:
    status = f"{call.status}, waits for a person" if call.manual else call.status
    if call.result_ref is not None:
        result = f"object of {call.result_ref.size} bytes"
    else:
        result = "-" if call.result is None else f"{len(call.result.encode())} bytes"
    return call.id, call.tool_name, call.side_effect, status, call.resolution or "-", result


def _view_ledger(entries: Sequence[Entry], screen: Screen) -> None:
    """Details are ids, counts and codes: the ledger holds no content."""
    header = ("entry", "time", "event", "step", "attempt", "call", "epoch")
    rows = [
        (
            *(str(entry.seq), _time(entry.at_s), entry.event, entry.step_id or "-"),
            *(str(entry.attempt or "-"), entry.invocation_id or "-", str(entry.epoch)),
        )
        for entry in entries
    ]
    if rows:
        screen.table(header, [_printable(row) for row in rows])


def _time(at_s: float) -> str:
    return datetime.fromtimestamp(at_s, UTC).strftime("%Y-%m-%d %H:%M:%S")


def _printable(row: Sequence[str]) -> tuple[str, ...]:
    return tuple(map(_one_line, row))


def _one_line(text: str) -> str:
    """Tools' names, models' words: nothing of it may move the cursor."""
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)
