"""Runs the command line in processes of its own on a SQLite store, with an application of the tests' own."""

from __future__ import annotations

import asyncio
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from seamstream.testing import FaultServer
from tests.house.imports import ROOT
from tests.tasks.service import Service

APP = "tests.cli.durable_app:agent"


@dataclass(frozen=True)
class Ended:
    """A command that has ended."""

    status: int
    out: str
    err: str


@dataclass
class CommandLine:
    """`environment` is added to that of each command."""

    path: Path
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return f"sqlite:///{self.path}"

    async def start(self, *arguments: str, store: bool = True) -> Process:
        """Start `seamstream` with these arguments and the store."""
        given = {"SEAMSTREAM_STORE": self.url} if store else {}
        environment = {**os.environ, **given, **self.environment}
        command = (str(Path(sys.executable).with_name("seamstream")), *arguments)
        return await asyncio.create_subprocess_exec(
            *command, cwd=ROOT, env=environment, stdout=PIPE, stderr=PIPE
        )

    async def run(self, *arguments: str, store: bool = True) -> Ended:
        process = await self.start(*arguments, store=store)
        out, err = await process.communicate()
        assert process.returncode is not None
        return Ended(process.returncode, out.decode(), err.decode())

    async def tasks(self, command: str, *arguments: str) -> Ended:
        return await self.run("tasks", command, *arguments, "--tenant", "acme")

    async def audit(self, *arguments: str) -> Ended:
        return await self.run("audit", *arguments, "--tenant", "acme")


def reach(cli: CommandLine, model: FaultServer, service: Service) -> CommandLine:
    """The commands' application talks to these."""
    urls = {"TEST_MODEL_URL": model.url_for("openai-chat"), "TEST_SERVICE_URL": service.url}
    return CommandLine(cli.path, urls)
