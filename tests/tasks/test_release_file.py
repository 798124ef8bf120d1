"""The release file: read as TOML and as JSON, and refused with the place that is wrong."""

from __future__ import annotations

import json
import re
import tomllib
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from seamstream.tasks.audit import (
    Drill,
    Provider,
    RecoveryDecision,
    Release,
    ReleaseError,
    load_release,
    read_release,
)
from seamstream.tasks.audit.acceptance import DEMANDS
from tests.house.imports import ROOT

TOML = """
isolated_prereleases = ["aiohttp"]

[recovery]
allow_after_start = true
max_recoveries = 2

[versions]
seamstream = "0.1.0"

[[providers]]
target = "https://api.example"
models = ["m-1", "m-2"]

[drills.cancel]
owner = "Ada"
on = 2026-01-31
passed = true
covers = ["provider", "tools", "stream", "worker"]

[undo]
book = "cancel_booking"
"""
READ = Release(
    recovery=RecoveryDecision(True, 2),
    versions={"seamstream": "0.1.0"},
    isolated_prereleases=("aiohttp",),
    providers=(Provider("https://api.example", ("m-1", "m-2")),),
    drills={
        "cancel": Drill(
            "Ada", date(2026, 1, 31), passed=True, covers=("provider", "tools", "stream", "worker")
        )
    },
    undo={"book": "cancel_booking"},
)
DRILL = {"owner": "Ada", "on": "2026-01-31", "passed": True}


def test_toml(tmp_path: Path) -> None:
    path = tmp_path / "release.toml"
    path.write_text(TOML, "utf-8")
    assert load_release(path) == READ


def test_json(tmp_path: Path) -> None:
    document = {
        "isolated_prereleases": ["aiohttp"],
        "recovery": {"allow_after_start": True, "max_recoveries": 2},
        "versions": {"seamstream": "0.1.0"},
        "providers": [{"target": "https://api.example", "models": ["m-1", "m-2"]}],
        "drills": {"cancel": {**DRILL, "covers": ["provider", "tools", "stream", "worker"]}},
        "undo": {"book": "cancel_booking"},
    }
    path = tmp_path / "release.json"
    path.write_text(json.dumps(document), "utf-8")
    assert load_release(path) == READ


@pytest.mark.parametrize(
    ("document", "why"),
    [
        ([], "the release file must be a table"),
        ({"recovry": {}}, "recovry is not known"),
        ({"recovery": {"max_recoveries": 1}}, "recovery.allow_after_start is missing"),
        ({"recovery": {"allow_after_start": 1, "max_recoveries": 1}}, "must be true or false, not 1"),
        ({"recovery": {"allow_after_start": True, "max_recoveries": -1}}, "a number from 0, not -1"),
        ({"recovery": {"allow_after_start": True, "max_recoveries": True}}, "a number from 0, not True"),
        ({"versions": {"a": 1}}, "versions.a must be a text, not 1"),
        ({"versions": {"a": " "}}, "versions.a is empty"),
        ({"providers": [{"target": "x", "models": "m"}]}, "providers[0].models must be a list"),
        ({"drills": {"cancel": {**DRILL, "on": "soon"}}}, "drills.cancel.on must be a day"),
        ({"drills": {"cancel": {**DRILL, "on": 3}}}, "drills.cancel.on must be a day"),
        ({"drills": {"cancel": {**DRILL, "extra": 3}}}, "drills.cancel.extra is not known"),
        ({"drills": {"cancle": DRILL}}, "drills.cancle is not known"),
    ],
)
def test_what_does_not_fit_is_named(document: Any, why: str) -> None:
    with pytest.raises(ReleaseError) as caught:
        read_release(document)
    assert why in str(caught.value)


@pytest.mark.parametrize("name", ["release.toml", "release.json"])
def test_what_cannot_be_parsed_names_the_file(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text("= nothing", "utf-8")
    with pytest.raises(ReleaseError, match=name) as caught:
        load_release(path)
    assert caught.value.__cause__ is not None


def test_the_one_in_the_documentation_is_right() -> None:
    page = (ROOT / "docs" / "audit.md").read_text("utf-8")
    blocks = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    assert len(blocks) == 1
    release = read_release(tomllib.loads(blocks[0]))
    assert release.recovery is not None
    assert {"cancel", "code"} <= release.drills.keys()


def test_the_documentation_has_the_rows_and_what_to_do() -> None:
    page = (ROOT / "docs" / "audit.md").read_text("utf-8")
    rows = re.findall(r"^\| (\d) \| ([\w ]+) \| .* \| ([^|]+) \|$", page, re.MULTILINE)
    assert rows == [(str(at), demand.name, demand.action) for at, demand in enumerate(DEMANDS, 1)]


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ReleaseError, match="cannot be read"):
        load_release(tmp_path / "none.toml")
