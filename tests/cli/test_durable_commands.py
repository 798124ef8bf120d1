"""`seamstream tasks` and `seamstream audit` as processes of their own, on one SQLite file."""

from __future__ import annotations

import io
import json
from pathlib import Path
from xml.etree import ElementTree

from cryptography.fernet import Fernet

from seamstream.cli.screen import Screen
from seamstream.cli.tasks_view import view
from seamstream.stores.backend import Backend
from seamstream.tasks import EncryptedBackend
from seamstream.tasks.operating import show_task
from seamstream.tasks.versions import versions_of
from seamstream.testing import FaultServer
from tests.cli.durable import APP, CommandLine, reach
from tests.house.test_public_names import run_python
from tests.tasks.audited import POLICY
from tests.tasks.operated import NO_WAY_BACK, Office, office, one_room
from tests.tasks.playing import ASK, stage
from tests.tasks.scripted import ScriptedModel, says

CONTENT = ("Ritz", "Book a room", "The room is booked")
"""What no command prints unless it is asked to: from arguments and results, requests and answers."""


async def finished(at: Office) -> str:
    task_id = await at.submit()
    assert await at.work() == ["succeeded"]
    return task_id


def release_file(path: Path, provider: str) -> Path:
    day = {"owner": "Ada", "on": "2026-01-01", "passed": True}
    document = {
        "recovery": {"allow_after_start": True, "max_recoveries": 8},
        "versions": versions_of(POLICY)["versions"],
        "providers": [{"target": provider, "models": ["m"]}],
        "drills": {
            "cancel": {**day, "covers": ["provider", "tools", "stream", "worker"]},
            "code": day,
            "task": day,
            "side_effect": day,
        },
        "undo": {"book": "the service's cancel"},
    }
    path.write_text(json.dumps(document), "utf-8")
    return path


# ---------------------------------------------------------------- audit


async def test_the_gate_opens_for_a_good_task_with_its_release(cli: CommandLine, store: Backend) -> None:
    async with office(store) as at:
        task_id = await finished(at)
        provider = at.agent.model.url.removesuffix("/v1/chat/completions")
    release = release_file(cli.path.with_name("release.json"), provider)
    passed = await cli.audit(task_id, "--gate", "--release", str(release))
    assert (passed.status, passed.out.splitlines()[-1]) == (0, "9 of 9 rows pass.")
    closed = await cli.audit(task_id, "--gate")
    assert (closed.status, closed.out.splitlines()[-1]) == (1, "5 of 9 rows pass.")
    assert (await cli.audit(task_id)).status == 0
    suite = ElementTree.fromstring((await cli.audit(task_id, "--format", "junit")).out)
    assert (suite.get("tests"), suite.get("errors")) == ("9", "4")
    document = json.loads((await cli.audit(task_id, "--format", "json")).out)
    kept = await cli.audit(task_id, "--evidence", document["evidence_ref"])
    assert "  2  pass     attempt ledger" in kept.out
    printed = passed.out + kept.out + json.dumps(document)
    assert [words for words in CONTENT if words in printed] == []


async def test_what_cannot_be_audited_has_a_status_of_its_own(cli: CommandLine, store: Backend) -> None:
    missing = await cli.audit("nobody", "--gate")
    assert (missing.status, missing.err) == (2, "seamstream: there is no task 'nobody'\n")
    wrong = cli.path.with_name("release.toml")
    wrong.write_text("recovry = 1", "utf-8")
    refused = await cli.audit("nobody", "--release", str(wrong))
    assert refused.status == 2
    assert refused.err == "seamstream: recovry is not known\n"
    assert (await cli.run("audit")).status == 2


async def test_a_store_that_is_not_there_keeps_its_password(cli: CommandLine) -> None:
    for url in (
        "redis://me:hush%21@127.0.0.1:1",
        "postgresql://me:hush%21@127.0.0.1:1/x",
        "hush://me:hush%21@x",
    ):
        ended = await cli.run("tasks", "list", "--tenant", "acme", "--store", url)
        assert ended.status == 2
        assert ended.err.startswith("seamstream: ")
        assert "hush%21" not in ended.out + ended.err
        assert "hush!" not in ended.out + ended.err
    none = await cli.run("tasks", "list", "--tenant", "acme", store=False)
    assert (none.status, none.err) == (2, "seamstream: no store: give --store URL, or set SEAMSTREAM_STORE\n")


# ---------------------------------------------------------------- tasks


async def test_a_task_is_shown_without_its_content(cli: CommandLine, store: Backend) -> None:
    async with office(store) as at:
        task_id = await finished(at)
    listed = await cli.tasks("list", "--state", "succeeded")
    assert listed.out.splitlines()[2].split()[:2] == [task_id, "succeeded"]
    shown = await cli.tasks("show", task_id)
    assert "1-1   book  compensatable  succeeded  -           17 bytes" in shown.out
    assert "workflow_succeeded" in shown.out
    assert [words for words in CONTENT if words in shown.out] == []
    content = await cli.tasks("show", task_id, "--content")
    assert [words for words in CONTENT if words not in content.out] == []
    assert (await cli.tasks("list", "--state", "lost")).status == 2
    other = await cli.run("tasks", "show", task_id, "--tenant", "other")
    assert other.status == 2


async def test_an_encrypted_store_is_read_with_its_key(cli: CommandLine, store: Backend) -> None:
    key = Fernet.generate_key().decode()
    async with office(EncryptedBackend(store, Fernet(key))) as at:
        task_id = await finished(at)
    cipher = ("--cipher", "tests.cli.durable_app:cipher")
    with_key = CommandLine(cli.path, {"TEST_KEY": key})
    shown = await with_key.tasks("show", task_id, "--content", *cipher)
    assert [words for words in CONTENT if words not in shown.out] == []
    assert "5 of 9 rows pass" in (await with_key.audit(task_id, *cipher)).out
    for blind in (
        await cli.tasks("show", task_id),
        await CommandLine(cli.path, {"TEST_KEY": Fernet.generate_key().decode()}).audit(task_id, *cipher),
        await cli.audit(task_id, *cipher),
    ):
        assert (blind.status, blind.out) == (2, "")
        assert "Traceback" not in blind.err


async def test_an_object_store_that_is_none_fails_no_row(cli: CommandLine, store: Backend) -> None:
    async with office(store) as at:
        task_id = await finished(at)
    for url in ("nope://k3y@x", "file:///nowhere/k3y"):
        ended = await cli.audit(task_id, "--gate", "--results", url)
        assert (ended.status, ended.out) == (2, "")
        assert ended.err.startswith("seamstream: no object store can be opened by this URL: ")
        assert "k3y" not in ended.err


async def test_a_person_settles_a_call_and_work_goes_on(cli: CommandLine, store: Backend) -> None:
    async with office(store, loses=frozenset({1}), **NO_WAY_BACK) as at:
        task_id = await at.submit()
        assert await at.work() == ["waiting_compensation"]
        early = await cli.tasks("retry", task_id)
        why = f"task {task_id} is waiting_compensation: cancel it or roll it back first"
        assert (early.status, early.err) == (1, f"seamstream: refused: {why}\n")
        woken = await cli.tasks("wake", task_id)
        assert woken.out == f"Task {task_id} is waiting_compensation; a worker will look at it.\n"
        assert await at.work() == ["waiting_compensation"]
        result = ("--result", '{"booked": "Ritz"}')
        assert (await cli.tasks("resolve", task_id, "1-1", "--deny", *result)).status == 2
        settled = await cli.tasks("resolve", task_id, "1-1", "--executed", *result, "--by", "Ada")
        assert settled.out == "Tool call 1-1 is succeeded; a worker goes on with the task.\n"
        assert await at.work() == ["succeeded"]
        assert await at.books() == 1
        again = await cli.tasks("resolve", task_id, "1-1", "--not-executed")
        assert again.status == 1


async def test_a_task_is_cancelled_and_tried_again(cli: CommandLine, store: Backend) -> None:
    async with office(store) as at:
        task_id = await at.submit()
        asked = await cli.tasks("cancel", task_id)
        assert asked.out == f"Task {task_id} is running; a worker will end it.\n"
        assert await at.work() == ["aborted"]
        assert (await cli.tasks("cancel", task_id)).status == 1
        retried = await cli.tasks("retry", task_id, "--new-id", "again")
        assert retried.out == f"Task again begins from the request of task {task_id}.\n"
        assert await at.work() == ["succeeded"]
        warned = await cli.tasks("retry", "again")
        assert "Mind: tool call 1-1 of the old task took place." in warned.out


async def test_each_layer_is_rolled_back_as_far_as_it_can_be(cli: CommandLine, store: Backend) -> None:
    async with office(store) as at, FaultServer(ScriptedModel(one_room)) as model:
        cli = reach(cli, model, at.service)
        done = await finished(at)
        waiting = await at.submit()

        async def back(task_id: str, layer: str, *more: str) -> tuple[int, str]:
            ended = await cli.tasks("rollback", task_id, "--layer", layer, *more)
            return ended.status, ended.out

        status, code = await back(done, "code", "--app", APP)
        assert status == 0
        assert "Nothing to pin: the same is installed here.\nPolicy: the same.\n" in code
        assert (await back(waiting, "task"))[1].startswith(f"Task {waiting} is terminal_failed.")
        assert (await back(waiting, "task"))[0] == 1
        assert (await back(done, "side-effect"))[0] == 2
        assert at.service.booked != {}
        assert await back(done, "side-effect", "--app", APP) == (0, "1-1 book: undone\n")
        assert at.service.booked == {}
        assert (await back(done, "credential"))[1].startswith("Nothing to roll back: no credential")


def test_commands_import_no_tasks_before_they_need_them() -> None:
    """Importing the command line is what every command pays, the demonstration too."""
    loaded = run_python("import sys, seamstream.cli.main; print(*sys.modules)").split()
    assert "seamstream.cli.tasks" in loaded
    assert [name for name in loaded if name.startswith("seamstream.tasks")] == []


async def test_no_id_moves_the_cursor() -> None:
    sly = "a\x1b[2J\nTask b"
    async with stage(lambda results: says("Hello.")) as played:
        await played.agent.submit(sly, ASK, task_id=sly, origin=sly)
        out = io.StringIO()
        view(await show_task(played.store, sly, sly), Screen(out, colour=False), content=True)
    assert "\x1b" not in out.getvalue()
    assert [line for line in out.getvalue().splitlines() if line.startswith("Task b")] == []
