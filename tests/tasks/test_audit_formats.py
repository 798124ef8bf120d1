"""The forms of an audit: text of 100 columns, JSON, and XML that a parser takes whatever a model wrote."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

from seamstream.stores.memory_backend import MemoryBackend
from seamstream.tasks import Agent, ModelTarget, Worker
from seamstream.tasks.audit import as_json, as_junit, as_text, audit
from seamstream.tasks.audit.formats import numbers
from seamstream.testing import FaultServer
from tests.tasks.audited import finished
from tests.tasks.scripted import ScriptedModel, calls, says

HOSTILE = 'x\x1b[2J\x00<&"]]>\ud800\ufffe'


async def test_text_has_at_most_100_columns(tmp_path: Path) -> None:
    case = await finished(MemoryBackend(), tmp_path)
    case.release = None  # type: ignore[assignment]
    text = as_text(await case.audit())
    assert max(len(line) for line in text.splitlines()) <= 100
    assert "  2  pass     attempt ledger\n" in text
    assert "  8  unknown  versions\n" in text
    assert text.endswith("5 of 9 rows pass.\n")


async def test_junit_counts_failures_and_what_nobody_can_judge(tmp_path: Path) -> None:
    case = await finished(MemoryBackend(), tmp_path)
    case.release = None  # type: ignore[assignment]
    await case.tamper(3, at_s=0.0)
    suite = ElementTree.fromstring(as_junit(await case.audit()))
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("9", "1", "4")
    cases = suite.findall("testcase")
    assert [each.get("name") for each in cases][1] == "2 attempt ledger"
    failure = cases[1].find("failure")
    assert failure is not None
    assert failure.get("message") == "the ledger is broken: entry 3 was changed"
    assert "action: add what is missing" in (failure.text or "")
    assert cases[0].find("error") is not None
    assert "Which tools were executed" in (suite.findtext("system-out") or "")


async def test_what_a_model_writes_breaks_no_form() -> None:
    store = MemoryBackend()
    model = ScriptedModel(lambda results: says("done") if results else calls((HOSTILE[:-2], {})))
    async with FaultServer(model) as server:
        target = ModelTarget(server.url_for("openai-chat"), {"model": "m"})
        async with Agent(target, [], store) as agent:
            task = await agent.submit("acme", {"messages": [{"role": "user", "content": "Go."}]})
            await Worker(agent, ["acme"]).drain()
    made = await audit(store, "acme", task.task_id, now_s=0.0)
    assert HOSTILE[:-2] in made.answers[1].notes[0].text
    shown = 'x\ufffd[2J\ufffd<&"]]>'
    assert shown in as_text(made)
    assert shown in (ElementTree.fromstring(as_junit(made)).findtext("system-out") or "")
    assert shown in json.loads(as_json(made))["answers"][1]["notes"][0]["text"]


async def test_json_holds_the_whole_audit(tmp_path: Path) -> None:
    case = await finished(MemoryBackend(), tmp_path)
    made = await case.audit()
    document = json.loads(as_json(made))
    assert document["passed"] is True
    assert [row["verdict"] for row in document["rows"]] == ["pass"] * 9
    assert document["evidence_ref"] == made.evidence_ref
    assert len(document["answers"]) == 4


def test_neighbouring_entries_are_a_range() -> None:
    assert numbers((9, 3, 4, 5, 5)) == "#3-5 #9"
