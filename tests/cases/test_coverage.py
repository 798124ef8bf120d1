"""Every report of the collection is a test here, and the list of reports says so itself."""

from __future__ import annotations

import ast
import json
import re
from itertools import takewhile
from pathlib import Path

from tests.cases.case import CASES_FILE, is_spoken

TESTS = Path(__file__).parents[1]
REPORTS_FILE = TESTS / "data" / "reports.jsonl"
FOLDERS = ("cases", "json")
REPORTS = 63
ID = re.compile(r"b\d\d")
OUTSIDE: dict[str, str] = {}
"""Reports that are about something else, with the reason."""


def _reports() -> dict[str, str]:
    lines = REPORTS_FILE.read_text("utf-8").splitlines()
    return {entry["id"]: entry["about"] for entry in map(json.loads, lines)}


def _named_in_functions() -> set[str]:
    """`test_b19_b20_...` is a test of B19 and of B20."""
    found = set()
    for folder in FOLDERS:
        for path in sorted((TESTS / folder).glob("test_*.py")):
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                    words = node.name.split("_")[1:]
                    found |= {word.upper() for word in takewhile(ID.fullmatch, words)}
    return found


def _in_the_data() -> dict[str, set[str]]:
    """The dialects of each report's byte sequences."""
    found: dict[str, set[str]] = {}
    for entry in json.loads(CASES_FILE.read_text("utf-8"))["cases"]:
        found.setdefault(entry["id"], set()).add(entry["dialect"])
    return found


def test_every_report_is_a_test() -> None:
    data, reports = _in_the_data(), _reports()
    played = {report for report, dialects in data.items() if all(map(is_spoken, dialects))}
    covered = played | _named_in_functions() | set(OUTSIDE)
    assert len(reports) == REPORTS
    assert covered == set(reports)


def test_every_report_says_what_it_is_about() -> None:
    assert all(about.strip() for about in _reports().values())
