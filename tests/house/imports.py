"""The import graph of the package, read from its source so that lazy imports count too."""

from __future__ import annotations

import ast
import pkgutil
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import aiohttp

PACKAGE = "seamstream"
ROOT = Path(__file__).resolve().parents[2]
PACKAGE_PATH = ROOT / "python" / PACKAGE


@dataclass(frozen=True)
class Import:
    """One imported module, by its absolute name. `lazy` means inside a function."""

    importer: str
    target: str
    line: int
    lazy: bool

    @property
    def target_unit(self) -> str | None:
        """The first part below the package, or None for a module of somebody else."""
        return unit_of(self.target)

    @property
    def target_top(self) -> str:
        return self.target.partition(".")[0]

    def __str__(self) -> str:
        return f"{self.importer}:{self.line} imports {self.target}"


def unit_of(module: str) -> str | None:
    top, _, below = module.partition(".")
    return below.partition(".")[0] if top == PACKAGE else None


@cache
def modules() -> dict[str, Path]:
    """Every module of the package with its file; the extension module stands with its stub."""
    found = {}
    for path in sorted(PACKAGE_PATH.rglob("*.py")):
        parts = path.relative_to(PACKAGE_PATH.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"), str(path))


@cache
def imports() -> tuple[Import, ...]:
    """All imports that can happen at run time; those for type checkers only are left out."""
    return tuple(found for module in modules() for found in _imports_of(module))


def _imports_of(module: str) -> Iterator[Import]:
    for node, lazy in _import_nodes(tree_of(modules()[module]), lazy=False):
        for target in _targets(module, node):
            yield Import(module, target, node.lineno, lazy)


def _import_nodes(node: ast.AST, *, lazy: bool) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child, lazy
        elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            for alternative in child.orelse:
                yield from _import_nodes(alternative, lazy=lazy)
        else:
            in_function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
            yield from _import_nodes(child, lazy=lazy or in_function)


def _targets(module: str, node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
        return
    base = _absolute(module, node)
    for alias in node.names:
        submodule = f"{base}.{alias.name}"
        yield submodule if _is_module(submodule) else base


def _is_module(name: str) -> bool:
    top, _, below = name.partition(".")
    if top == "aiohttp":
        return below in {found.name for found in pkgutil.iter_modules(aiohttp.__path__)}
    return name in modules() or name == f"{PACKAGE}._core"


def _absolute(module: str, node: ast.ImportFrom) -> str:
    if node.level == 0:
        return node.module or ""
    is_package = modules()[module].name == "__init__.py"
    package = module.split(".")[: None if is_package else -1]
    base = package[: len(package) - (node.level - 1)]
    return ".".join([*base, node.module] if node.module else base)
