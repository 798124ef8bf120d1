"""`seamstream tasks`: look at durable tasks, end them, begin them anew, decide what people must decide."""

from __future__ import annotations

import argparse
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, get_args

from ..clock import SystemClock
from ..errors import ConfigurationError
from ..stores.backend import Backend
from .rolling_back import LAYERS, roll_back
from .screen import Screen
from .store import add_store_arguments, complain, run_on_store
from .tasks_view import view, view_all
from .worker import add_app_argument

if TYPE_CHECKING:
    from ..tasks.deciding import Decision

Command = Callable[[argparse.Namespace, Backend, Screen], Awaitable[None]]
REFUSED = 1
"""The exit status when the task does not allow what was asked."""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command and its own commands to the command line."""
    parser = subparsers.add_parser(
        "tasks", help="list, show, wake, retry, cancel, resolve or roll back tasks"
    )
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    def add(name: str, help_text: str, command: Command) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=help_text, description=help_text)
        added.add_argument("--tenant", required=True, help="whose tasks")
        add_store_arguments(added)
        added.set_defaults(run=run, command=command)
        return added

    listing = add("list", "the tenant's tasks, the oldest first", _list)
    listing.add_argument("--state", action="append", default=[], help="only these; may be repeated")
    showing = _of_task(add("show", "one task: its steps, its tool calls, its ledger", _show))
    showing.add_argument("--content", action="store_true", help="print requests, answers and results, too")
    retrying = _of_task(add("retry", "begin a new task from the request of one that is over", _retry))
    retrying.add_argument("--new-id", metavar="ID", help="the new task's id (default: a random one)")
    _of_task(add("wake", "have a worker look again at a task that waits", _wake))
    _of_task(add("cancel", "have a worker end the task for good", _cancel))
    _add_decision(_of_task(add("resolve", "decide about a tool call that waits for a person", _resolve)))
    rolling = _by(_of_task(add("rollback", "roll back one layer of a task", roll_back)))
    rolling.add_argument("--layer", required=True, choices=LAYERS)
    add_app_argument(rolling, required=False)


def _of_task(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    parser.add_argument("task", metavar="TASK", help="the task's id")
    return parser


def _by(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    parser.add_argument("--by", default="operator", metavar="NAME", help="who decides; stands in the ledger")
    return parser


def _add_decision(parser: argparse.ArgumentParser) -> None:
    _by(parser).add_argument("invocation", metavar="INVOCATION", help="the call's id in `tasks show`")
    decisions = parser.add_mutually_exclusive_group(required=True)
    for name, help_text in (
        ("executed", "the call took place"),
        ("not_executed", "the call did not take place, and will not"),
        ("approve", "the call may take place"),
        ("deny", "the call may not take place"),
        ("undone", "what the call did was taken back"),
    ):
        flag = f"--{name.replace('_', '-')}"
        decisions.add_argument(flag, dest="decision", action="store_const", const=name, help=help_text)
    parser.add_argument("--result", metavar="JSON", help="with --executed: the call's result")


def run(options: argparse.Namespace) -> int:
    """0 when it was done, 1 when the task does not allow it, 2 when it could not be tried."""

    async def work(backend: Backend) -> int:
        from ..tasks.refusal import Refused

        screen = Screen.standard(no_colour=True)
        try:
            await options.command(options, backend, screen)
        except Refused as error:
            complain(f"refused: {error}")
            return REFUSED
        return 0

    return run_on_store(options, work)


async def _list(options: argparse.Namespace, backend: Backend, screen: Screen) -> None:
    from ..tasks.operating import list_tasks
    from ..tasks.records import TaskState

    for state in options.state:
        if state not in get_args(TaskState):
            raise ConfigurationError(f"no task is ever {state!r}; there are {', '.join(get_args(TaskState))}")
    view_all(await list_tasks(backend, options.tenant, states=options.state), screen)


async def _show(options: argparse.Namespace, backend: Backend, screen: Screen) -> None:
    from ..tasks.operating import show_task

    view(await show_task(backend, options.tenant, options.task), screen, content=options.content)


async def _retry(options: argparse.Namespace, backend: Backend, screen: Screen) -> None:
    from ..tasks.operating import retry_task, show_task

    clock, tenant = SystemClock(), options.tenant
    new = await retry_task(backend, tenant, options.task, clock=clock, new_id=options.new_id)
    screen.line(f"Task {new.task_id} begins from the request of task {options.task}.")
    for step in (await show_task(backend, tenant, options.task)).steps:
        for call in step.tool_calls:
            if call.side_effect != "none" and call.status == "succeeded":
                screen.line(
                    f"Mind: tool call {call.id} of the old task took place. The new one may do it again."
                )


async def _wake(options: argparse.Namespace, backend: Backend, screen: Screen) -> None:
    from ..tasks.operating import wake_task

    task = await wake_task(backend, options.tenant, options.task)
    screen.line(f"Task {task.task_id} is {task.state}; a worker will look at it.")


async def _cancel(options: argparse.Namespace, backend: Backend, screen: Screen) -> None:
    from ..tasks.operating import cancel_task

    task = await cancel_task(backend, options.tenant, options.task)
    screen.line(f"Task {task.task_id} is {task.state}; a worker will end it.")


async def _resolve(options: argparse.Namespace, backend: Backend, screen: Screen) -> None:
    from ..tasks.deciding import resolve_call
    from ..tasks.operating import show_task

    decision: Decision = options.decision
    if options.result is not None and decision != "executed":
        raise ConfigurationError("--result belongs to --executed")
    call = await resolve_call(
        *(backend, options.tenant, options.task, options.invocation, decision),
        by=options.by,
        clock=SystemClock(),
        result=options.result or "null",
    )
    task = (await show_task(backend, options.tenant, options.task)).task
    after = f"the task is {task.state}" if task.over else "a worker goes on with the task"
    screen.line(f"Tool call {call.id} is {call.status}; {after}.")
