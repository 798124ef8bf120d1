"""Sizes, file heads, and words that must not get into the repository."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.house.imports import ROOT, modules, tree_of

LINES_CAP = {".py": 335, ".rs": 330}
FUNCTION_LINES_CAP = 50
SOURCE_FOLDERS = ("python", "rust", "tests", "bench")
GENERATED = {"Cargo.lock"}
# In pieces, so that this file does not hold what it looks for.
FORBIDDEN = [
    "/".join(["", "work", "main"]),
    "/".join(["", "work", "shared"]),
    "/".join(["", "work", ".library"]),
    *(
        ".".join(host)
        for host in [("pypi", "org"), ("pythonhosted", "org"), ("crates", "io"), ("npmjs", "org")]
    ),
]


def source_files() -> Iterator[Path]:
    for folder in SOURCE_FOLDERS:
        yield from (path for path in sorted((ROOT / folder).rglob("*")) if path.suffix in LINES_CAP)


def tracked_files() -> list[Path]:
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True)
    return [ROOT / name for name in listing.stdout.split("\0") if name and name not in GENERATED]


def test_files_are_not_too_long() -> None:
    lengths = {path: len(path.read_text("utf-8").splitlines()) for path in source_files()}
    assert {str(path): lines for path, lines in lengths.items() if lines > LINES_CAP[path.suffix]} == {}


def test_functions_are_not_too_long() -> None:
    too_long = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
        for path in source_files()
        if path.suffix == ".py"
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if (node.end_lineno or node.lineno) - node.lineno >= FUNCTION_LINES_CAP
    ]
    assert too_long == []


def test_every_module_says_why_it_exists() -> None:
    assert [module for module, path in modules().items() if not ast.get_docstring(tree_of(path))] == []


@pytest.mark.parametrize("word", FORBIDDEN)
def test_no_path_of_a_machine_and_no_registry_host_stands_here(word: str) -> None:
    holders = [path for path in tracked_files() if path.is_file() and word.encode() in path.read_bytes()]
    assert [str(path.relative_to(ROOT)) for path in holders] == []
