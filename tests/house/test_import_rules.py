"""Who may import whom. A rule that is not checked here is a wish."""

from __future__ import annotations

import ast
import sys
import tomllib
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter

import pytest

from tests.house.imports import PACKAGE, ROOT, Import, imports, modules, tree_of, unit_of

TIME_AND_CHANCE = {"time", "random", "secrets", "uuid"}
NOT_PURE = TIME_AND_CHANCE | {
    "aiohttp", "asyncio", "builtins", "concurrent", "io", "logging", "multiprocessing", "os", "pathlib",
    "select", "selectors", "signal", "socket", "ssl", "subprocess", "tempfile"
}  # fmt: skip
REQUIRED_PACKAGES = {"aiohttp", "multidict", "orjson", "yarl"}
"""What an installation always has: the two requirements, and what aiohttp's own interface is made of."""

AIOHTTP_INTERNALS = f"{PACKAGE}.transports.aiohttp_internals"
AIOHTTP_MADE = f"{PACKAGE}.transports.aiohttp_made"
SDK_INTERNALS = f"{PACKAGE}.transports.sdk_internals"
BOTOCORE_INTERNALS = f"{PACKAGE}.transports.botocore_internals"

MAY_BE_IMPORTED_BY = {"cli": set(), "gateway": {"cli"}, "tasks": {"cli"}, "testing": {"cli"}}
LOWER_UNITS = {
    "errors": set(),
    "types": set(),
    "recovery": {"errors", "types"},
    "clock": {"errors", "types"},
    "driver": {"_core", "clock", "effects", "errors", "observe", "recovery", "stores", "types"},
}
"""Units whose imports are few on purpose, with all that they may import of the package."""


def listed(found: Iterator[Import]) -> list[str]:
    return [str(entry) for entry in found]


def belongs(module: str, *places: str) -> bool:
    """Is it one of these modules, or in one of these packages?"""
    return any(module == place or module.startswith(f"{place}.") for place in places)


def from_unit(unit: str) -> Iterator[Import]:
    return (entry for entry in imports() if unit_of(entry.importer) == unit)


def test_the_graph_is_read() -> None:
    assert any(entry.target == f"{PACKAGE}.types" for entry in imports())
    assert any(entry.target_top == "aiohttp" for entry in imports())


def test_there_are_no_cycles() -> None:
    graph: dict[str, set[str]] = {module: set() for module in modules()}
    for entry in imports():
        if entry.target in graph and entry.target != entry.importer:
            graph[entry.importer].add(entry.target)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


@pytest.mark.parametrize("unit", LOWER_UNITS)
def test_lower_units_import_only_what_is_below(unit: str) -> None:
    allowed = LOWER_UNITS[unit] | {unit}
    ours = (entry for entry in from_unit(unit) if entry.target_unit is not None)
    assert not listed(entry for entry in ours if entry.target_unit not in allowed)


@pytest.mark.parametrize("unit", ["recovery", "driver", "effects"])
def test_decisions_touch_neither_the_loop_nor_the_world(unit: str) -> None:
    assert not listed(entry for entry in from_unit(unit) if entry.target_top in NOT_PURE)


@pytest.mark.parametrize("unit", MAY_BE_IMPORTED_BY)
def test_the_upper_ends_are_imported_by_nobody_below(unit: str) -> None:
    allowed = MAY_BE_IMPORTED_BY[unit] | {unit}
    of_unit = (entry for entry in imports() if entry.target_unit == unit)
    assert not listed(entry for entry in of_unit if unit_of(entry.importer) not in allowed)


def test_only_the_clock_imports_time_and_chance() -> None:
    of_time = (entry for entry in imports() if entry.target_top in TIME_AND_CHANCE)
    clocks = {f"{PACKAGE}.clock", f"{PACKAGE}.testing.clock"}
    assert not listed(entry for entry in of_time if entry.importer not in clocks)


def test_nobody_reads_the_time_through_another_door() -> None:
    doors = {"now", "utcnow", "today", "urandom"}
    found = [
        f"{module}:{node.lineno} reads .{node.attr}"
        for module, path in modules().items()
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Attribute) and node.attr in doors and isinstance(node.value, ast.Name)
        if node.value.id in {"datetime", "date", "os"}
    ]
    assert not found


def test_optional_packages_are_imported_lazily() -> None:
    known = sys.stdlib_module_names | REQUIRED_PACKAGES | {PACKAGE}
    assert not listed(entry for entry in imports() if entry.target_top not in known and not entry.lazy)


def test_what_aiohttp_does_not_document_is_used_in_two_places() -> None:
    public = {"aiohttp.abc", "aiohttp.hdrs", "aiohttp.typedefs", "aiohttp.web"}
    of_aiohttp = (entry for entry in imports() if entry.target.startswith("aiohttp."))
    importers = {entry.importer for entry in of_aiohttp if entry.target not in public}
    assert {name for name in importers if not belongs(name, AIOHTTP_INTERNALS, AIOHTTP_MADE)} == set()


def test_private_members_of_others_are_used_in_one_place_each() -> None:
    """ruff's SLF001 finds them; here only who was let off."""
    internals = (AIOHTTP_INTERNALS, AIOHTTP_MADE, BOTOCORE_INTERNALS, SDK_INTERNALS)
    allowed = {path for name, path in modules().items() if belongs(name, *internals)}
    let_off = {found for found in modules().values() if "SLF001" in found.read_text("utf-8")}
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["ruff"]["lint"]
    for pattern, rules in settings["per-file-ignores"].items():
        if "SLF001" in rules and not pattern.startswith(("tests/", "bench/")):
            let_off |= set(ROOT.glob(pattern))
    assert let_off <= allowed
