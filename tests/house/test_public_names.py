"""What the package exports, and what importing it costs and brings along."""

from __future__ import annotations

import importlib
import subprocess
import sys
from types import ModuleType

import pytest

from tests.house.imports import PACKAGE, ROOT, modules, tree_of

PACKAGES = [name for name, path in modules().items() if path.name == "__init__.py"]
OPTIONAL_UNITS = {f"{PACKAGE}.{unit}" for unit in ("cli", "gateway", "tasks", "testing")}
OPTIONAL_PACKAGES = {
    "anthropic",
    "httpx",
    "httpx2",
    "openai",
    "opentelemetry",
    "prometheus_client",
    "uvloop",
}
IMPORT_COST_CAP = 2
"""Times what importing our two requirements costs."""

IMPORT_EACH_ALONE = """
import importlib, sys
failed = []
for name in sys.argv[1:]:
    for loaded in [key for key in sys.modules if key.partition(".")[0] == "seamstream"]:
        if loaded != "seamstream._core":  # an extension module cannot be run twice
            del sys.modules[loaded]
    try:
        importlib.import_module(name)
    except ImportError as error:
        failed.append(f"{name}: {error}")
print("\\n".join(failed), end="")
"""

IMPORT_SECONDS = """
import time
begun = time.process_time()
import {names}
print(time.process_time() - begun)
"""


def run_python(code: str, *arguments: str) -> str:
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def exported(module: ModuleType) -> list[str]:
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and not isinstance(value, ModuleType) and name != "annotations"
    ]


def constants_first(name: str) -> tuple[bool, str]:
    """The order that the linter wants, too."""
    return not name.isupper(), name


@pytest.mark.parametrize("package", PACKAGES)
def test_exports_are_sorted_and_exist(package: str) -> None:
    module = importlib.import_module(package)
    names = list(getattr(module, "__all__", ()))
    assert names == sorted(set(names), key=constants_first)
    assert [name for name in names if not hasattr(module, name)] == []
    assert set(exported(module)) == {name for name in names if not name.startswith("_")}


@pytest.mark.parametrize("package", PACKAGES)
def test_package_files_only_export(package: str) -> None:
    kinds = {type(node).__name__ for node in tree_of(modules()[package]).body}
    assert kinds <= {"Expr", "ImportFrom", "Import", "Assign", "AnnAssign"}


@pytest.mark.timeout(300)  # a process for each module, on a machine that may be busy
def test_every_module_imports_alone() -> None:
    assert run_python(IMPORT_EACH_ALONE, *modules()) == ""


def test_importing_the_package_brings_nothing_optional() -> None:
    loaded = run_python(f"import sys, {PACKAGE}; print(*sys.modules)").split()
    assert (OPTIONAL_UNITS | OPTIONAL_PACKAGES).isdisjoint(loaded)


def test_importing_the_package_costs_little_more_than_its_requirements() -> None:
    ours_s, theirs_s = [], []
    for _ in range(5):
        theirs_s.append(float(run_python(IMPORT_SECONDS.format(names="aiohttp, orjson"))))
        ours_s.append(float(run_python(IMPORT_SECONDS.format(names=PACKAGE))))
    assert min(ours_s) < IMPORT_COST_CAP * min(theirs_s)


def test_the_stub_describes_the_extension_module() -> None:
    importlib.import_module(f"{PACKAGE}._core")  # stubtest calls a module that it cannot import a success
    command = [sys.executable, "-m", "mypy.stubtest", f"{PACKAGE}._core"]
    result = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
