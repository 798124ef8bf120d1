"""`seamstream worker` as a process: it works, hands over on a signal, and says which application is none."""

from __future__ import annotations

import asyncio
import json
import signal
from asyncio.subprocess import Process

import pytest

from seamstream.stores.backend import Backend
from seamstream.tasks.ledger import ledger_key
from seamstream.testing import Fault, FaultServer
from tests.cli.durable import APP, CommandLine, reach
from tests.tasks.operated import office, one_room
from tests.tasks.scripted import ScriptedModel
from tests.tasks.service import Service


async def wait_for(store: Backend, task_id: str, event: str) -> None:
    async with asyncio.timeout(60):
        async for entry in store.follow("acme", ledger_key(task_id)):
            if json.loads(entry.value)["event"] == event:
                return


async def hear(process: Process, word: str) -> None:
    assert process.stdout is not None
    async with asyncio.timeout(60):
        while word != (await process.stdout.readline()).decode().strip():
            assert not process.stdout.at_eof()


@pytest.mark.parametrize("app", [APP, "tests.cli.durable_app:with_session"])
async def test_a_worker_hands_over_and_another_goes_on(cli: CommandLine, store: Backend, app: str) -> None:
    stalled = [Fault.none(), Fault.stall(after_text=b"room")]
    async with (
        office(store) as at,
        Service() as service,
        FaultServer(ScriptedModel(one_room), stalled) as model,
    ):
        cli = reach(cli, model, service)
        task_id = await at.submit()
        worker = ("worker", "--app", app, "--tenant", "acme", "--lease-s", "20", "--grace-s", "20")
        first = await cli.start(*worker)
        await hear(first, "TextDelta")
        first.send_signal(signal.SIGTERM)
        _, err = await first.communicate()
        assert first.returncode == 0, err.decode()
        second = await cli.start(*worker)
        await wait_for(store, task_id, "workflow_succeeded")
        second.send_signal(signal.SIGINT)
        await second.communicate()
        assert second.returncode == 0
        assert [action for action, _ in service.calls] == ["book"]
    events = [entry.event for entry in await at.told(task_id)]
    assert events.index("task_handed_over") < events.index("task_taken_over")
    audited = await cli.audit(task_id)
    assert "5 of 9 rows pass" in audited.out


@pytest.mark.parametrize(
    ("app", "why"),
    [
        ("tests.cli.durable_app", "is not of the form module:name"),
        ("tests.cli.durable_app:nobody", "cannot be loaded: AttributeError"),
        ("tests.cli.nowhere:agent", "cannot be loaded: ModuleNotFoundError"),
        ("tests.cli.durable_app:nothing", "returned NoneType, no async context manager of an Agent"),
        ("tests.cli.durable_app:broken", "broke: RuntimeError: the factory broke"),
        ("tests.cli.durable_app:opens_another", "opened str, no Agent"),
        ("tests.cli.durable_app:breaks_inside", "broke: KeyError: 'TEST'"),
    ],
)
async def test_an_application_that_is_none_is_named(cli: CommandLine, app: str, why: str) -> None:
    ended = await cli.run("worker", "--app", app, "--tenant", "acme")
    assert ended.status == 2
    assert why in ended.err
    assert "Traceback" not in ended.err
