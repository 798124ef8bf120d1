"""No secret reaches a store, a ledger or a log: what stores have on disk is searched for marked values."""

from __future__ import annotations

import base64
import io
import logging
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from cryptography.fernet import Fernet

from seamstream.cli.screen import Screen
from seamstream.cli.tasks_view import view
from seamstream.stores.backend import Backend
from seamstream.stores.url import open_store
from seamstream.tasks import Agent, EncryptedBackend, ModelTarget, ToolContext, Worker, tool
from seamstream.tasks.audit import as_json, as_junit, as_text, audit
from seamstream.tasks.ledger import ledger_key
from seamstream.tasks.operating import show_task
from seamstream.testing import FaultServer
from seamstream.testing.faults import Fault
from tests.stores.servers import Server
from tests.tasks.playing import TENANT, QuickClock
from tests.tasks.scripted import ScriptedModel, calls, says

HEADER, QUERY, BODY, INPUT, RESULT, TEXT = (
    f"MARK-{name}-{uuid.uuid4().hex}" for name in ("header", "query", "body", "input", "result", "text")
)
ASK = {"messages": [{"role": "user", "content": f"Pay with {BODY}."}]}


@tool(side_effect="idempotent", allow_manual=True, secret=True)
async def pay(context: ToolContext, card: str) -> str:
    return RESULT


def script(results: list[str]) -> Any:
    return says(f"Paid {TEXT}.") if results else calls(("pay", {"card": INPUT}), text=f"{TEXT} ")


@pytest.fixture(params=["sqlite", "redis", "nats", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Path]:
    """A store's address, and the folder where everything it knows is on disk."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/store.db", tmp_path
    name = {"postgresql": "postgres"}.get(request.param, request.param)
    server: Server = request.getfixturevalue(f"{name}_server")
    return server.url, server.folder


async def work(store: Backend, tools: list[Any]) -> str:
    """One task under a cut and a lost worker, so that checkpoints and takeovers are written too."""
    async with FaultServer(ScriptedModel(script), [Fault.reset(after_events=4)]) as server:
        url = f"{server.url_for('openai-chat')}?key={QUERY}"
        headers = {"Authorization": f"Bearer {HEADER}"}
        model = ModelTarget(url, {"model": "test-model"}, credentials=headers)
        async with Agent(model, tools, store, clock=QuickClock()) as agent:
            task = await agent.submit(f"{TENANT}-{uuid.uuid4().hex}", ASK)
            [envelope] = await Worker(agent, [task.tenant]).drain()
        assert envelope.state == "succeeded"
        assert server.requests[0].headers["authorization"].endswith(HEADER)
    ledger = await store.read(task.tenant, ledger_key(task.task_id))
    entries = b"\n".join(entry.value for entry in ledger).decode()
    return entries + await printed(store, task.tenant, task.task_id)


async def printed(store: Backend, tenant: str, task_id: str) -> str:
    """What the commands print about a task."""
    out = io.StringIO()
    audited = await audit(store, tenant, task_id, now_s=0.0)
    for form in (as_text, as_json, as_junit):
        out.write(form(audited))
    view(await show_task(store, tenant, task_id), Screen(out, colour=False), content=False)
    return out.getvalue()


def on_disk(folder: Path) -> Iterator[bytes]:
    for path in folder.rglob("*"):
        if path.is_file():
            yield path.read_bytes()


def found(folder: Path, marks: tuple[str, ...]) -> set[str]:
    """The marks that stand somewhere on disk, as they are or in base64."""
    forms = {mark: [mark.encode(), *in_base64(mark)] for mark in marks}
    seen = set()
    for data in on_disk(folder):
        seen |= {mark for mark, written in forms.items() if any(form in data for form in written)}
    return seen


def in_base64(mark: str) -> Iterator[bytes]:
    """What base64 makes of the mark wherever it begins, without the characters at its ends."""
    for before in range(3):
        yield base64.b64encode(b"x" * before + mark.encode())[4:-4]


async def test_credentials_are_never_stored_and_nothing_else_in_clear_under_a_key(
    place: tuple[str, Path], caplog: pytest.LogCaptureFixture
) -> None:
    url, folder = place
    caplog.set_level(logging.DEBUG)
    async with open_store(url) as store:
        told = await work(EncryptedBackend(store, Fernet(Fernet.generate_key())), [pay])
    everything = (HEADER, QUERY, BODY, INPUT, RESULT, TEXT)
    assert found(folder, everything) == set()
    assert {mark for mark in everything if mark in told or mark in caplog.text} == set()
    assert orjson.loads(told.splitlines()[0])["event"] == "task_created"


async def test_without_a_key_content_is_stored_but_stays_out_of_ledger_and_logs(
    place: tuple[str, Path], caplog: pytest.LogCaptureFixture
) -> None:
    """Which also shows that the search finds what is there."""
    url, folder = place
    caplog.set_level(logging.DEBUG, "seamstream")
    open_pay = tool(side_effect="idempotent", allow_manual=True)(pay.function)
    async with open_store(url) as store:
        told = await work(store, [open_pay])
    everything = (HEADER, QUERY, BODY, INPUT, RESULT, TEXT)
    assert found(folder, everything) == {BODY, INPUT, RESULT, TEXT}
    assert {mark for mark in everything if mark in told} == set()
