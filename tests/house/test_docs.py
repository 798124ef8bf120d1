"""The documents' Python runs as printed, their links lead somewhere, and their TOML is what is read."""

from __future__ import annotations

import re
import tomllib
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from seamstream.recovery.continuation import SERVERS
from seamstream.stores.memory_backend import MemoryBackend
from seamstream.tasks.audit.release import load_release
from seamstream.testing.backend_contract import BACKEND_CONTRACT
from tests.house.imports import ROOT

DOCS = sorted((ROOT / "docs").glob("*.md"))


def blocks(document: str, language: str) -> list[str]:
    text = (ROOT / "docs" / document).read_text("utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def test_no_block_is_left_out() -> None:
    found = {path.name: len(blocks(path.name, r"\w+")) for path in DOCS}
    assert {name: count for name, count in found.items() if count} == {
        "audit.md": 1,
        "providers.md": 1,
        "stores.md": 1,
    }


def test_a_profile_of_ones_own() -> None:
    names: dict[str, Any] = {}
    exec(blocks("providers.md", "python")[0], names)
    profile = names["book"].profile(host="gpu-7", dialect="openai-chat", model="m")
    assert profile.strategies == SERVERS["vllm"].strategies


@pytest.mark.parametrize("check", BACKEND_CONTRACT[:3], ids=lambda check: check.__name__)
async def test_a_backend_of_ones_own(check: Any) -> None:
    backend = MemoryBackend()

    @asynccontextmanager
    async def my_backend() -> Any:
        yield backend

    names: dict[str, Any] = {"my_backend": my_backend}
    exec(blocks("stores.md", "python")[0], names)
    await names["test_my_backend"](check)


def test_the_release_file(tmp_path: Path) -> None:
    [text] = blocks("audit.md", "toml")
    path = tmp_path / "release.toml"
    path.write_text(text, "utf-8")
    assert set(load_release(path).undo) == set(tomllib.loads(text)["undo"])


@pytest.mark.parametrize("path", DOCS, ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    targets = re.findall(r"\]\((?!https?:)([^)#]+)", path.read_text("utf-8"))
    assert [target for target in targets if not (path.parent / target).exists()] == []
