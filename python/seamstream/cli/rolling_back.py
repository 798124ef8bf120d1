"""`seamstream tasks rollback`: each layer as far as it can be rolled back, and what is left for people."""

from __future__ import annotations

import argparse
from typing import Final

from ..clock import SystemClock
from ..errors import ConfigurationError
from ..stores.backend import Backend
from .screen import Screen
from .worker import agent_of

LAYERS: Final = ("code", "task", "side-effect", "credential")


async def roll_back(options: argparse.Namespace, backend: Backend, screen: Screen) -> None:
    """Roll back the layer that was chosen. Refused as the operations of `seamstream.tasks` say."""
    layers = {"code": _code, "task": _task, "side-effect": _side_effects, "credential": _credentials}
    await layers[options.layer](options, backend, screen)


async def _code(options: argparse.Namespace, backend: Backend, screen: Screen) -> None:
    """Only who deploys can roll back code: say what to pin."""
    from ..tasks.operating import compare_code

    if options.app is None:
        found = await compare_code(backend, options.tenant, options.task)
    else:
        async with agent_of(options.app, backend) as agent:
            policy = agent.model.policy
            found = await compare_code(backend, options.tenant, options.task, policy=policy)
    names = sorted(found.ran.keys() | found.installed.keys())
    rows = [(name, found.ran.get(name, "-"), found.installed.get(name, "-")) for name in names]
    screen.table(("package", "the task began with", "installed here"), rows)
    pins = " ".join(found.pins)
    screen.line(f"To go back, pin: {pins}" if pins else "Nothing to pin: the same is installed here.")
    policy_is = {None: "not compared, give --app", True: "another one", False: "the same"}
    screen.line(f"Policy: {policy_is[found.policy_differs]}.")
    screen.line("What was already sent to readers cannot be taken back.")


async def _task(options: argparse.Namespace, backend: Backend, screen: Screen) -> None:
    from ..tasks.operating import end_task

    task = await end_task(backend, options.tenant, options.task, by=options.by, clock=SystemClock())
    screen.line(f"Task {task.task_id} is {task.state}. `seamstream tasks retry` begins a new one.")


async def _side_effects(options: argparse.Namespace, backend: Backend, screen: Screen) -> None:
    from ..tasks.undoing import undo_calls

    if options.app is None:
        raise ConfigurationError("side effects are taken back by the tools themselves: give --app")
    async with agent_of(options.app, backend) as agent:
        ended = await undo_calls(agent, options.tenant, options.task, by=options.by)
    told = {"undone": "undone", "asked": "a person is to undo it, then `tasks resolve --undone`"}
    for each in ended:
        screen.line(f"{each.call.id} {each.call.tool_name}: {told.get(each.undo, each.undo)}")
    if not ended:
        screen.line("No tool has changed anything.")


async def _credentials(_: argparse.Namespace, __: Backend, screen: Screen) -> None:
    screen.paragraph(
        "Nothing to roll back: no credential is stored with a task. Workers ask for them anew for each"
        " request, and without one the task waits. Revoke a credential where it was issued."
    )
