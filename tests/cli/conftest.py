"""One SQLite file, as this process and the command line's processes see it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from seamstream.stores.backend import Backend
from seamstream.tasks import open_store
from tests.cli.durable import CommandLine


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Backend]:
    async with open_store(f"sqlite:///{tmp_path / 'tasks.db'}") as opened:
        yield opened


@pytest.fixture
def cli(tmp_path: Path) -> CommandLine:
    return CommandLine(tmp_path / "tasks.db")
