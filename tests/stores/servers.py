"""Store servers of the tests' own, on free ports, that can be killed and come back with their data.

A server that is not installed skips its tests, and fails them in CI.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

import pytest

READY_S = 30.0
HOST = "127.0.0.1"


def binary(name: str, *elsewhere: Path) -> str:
    """Where that program is; without it the test cannot run."""
    found = shutil.which(name) or next((str(path) for path in elsewhere if path.exists()), None)
    if found is None:
        if os.environ.get("CI"):
            pytest.fail(f"{name} is not installed")
        pytest.skip(f"{name} is not installed")
    return found


class Server(ABC):
    """One server process. `kill` is SIGKILL, and `start` after it finds what was on disk."""

    def __init__(self) -> None:
        self.port = _free_port()
        self.folder = Path(tempfile.mkdtemp(prefix="seamstream-store-"))
        self.process: subprocess.Popen[bytes] | None = None

    @abstractmethod
    def command(self) -> list[str]:
        """The program and its arguments."""

    @property
    @abstractmethod
    def url(self) -> str:
        """What `open_store` takes."""

    def start(self) -> None:
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                self.command(), stdin=subprocess.DEVNULL, stdout=log, stderr=log, **self.options()
            )
        deadline = time.monotonic() + READY_S
        while not self.answers():
            assert self.process.poll() is None, (self.folder / "log").read_text()[-2000:]
            assert time.monotonic() < deadline, "the server did not come up"
            time.sleep(0.02)

    def options(self) -> dict[str, Any]:
        return {}

    def answers(self) -> bool:
        try:
            with socket.create_connection((HOST, self.port), timeout=1.0):
                return True
        except OSError:
            return False

    def freeze(self) -> None:
        """Stop all of its processes: the kernel still takes connections and bytes for them."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        assert self.process is not None
        pid = self.process.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        for each in (pid, *map(int, children)):
            os.kill(each, number)

    def kill(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def restart(self) -> None:
        """Kill it, and start it again."""
        self.kill()
        self.start()

    def close(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


class RedisServer(Server):
    def command(self) -> list[str]:
        options = ["--save", "", "--appendonly", "yes", "--appendfsync", "always", "--dir", str(self.folder)]
        return [binary("redis-server"), "--bind", HOST, "--port", str(self.port), *options]

    @property
    def url(self) -> str:
        return f"redis://{HOST}:{self.port}/0"


class NatsServer(Server):
    settings = ""
    storage = "sync_interval: always"

    def command(self) -> list[str]:
        beside = Path(sys.executable).parent / "nats-server"
        program = str(beside) if beside.exists() else binary("nats-server")
        config = self.folder / "nats.conf"
        config.write_text(
            f'listen: "{HOST}:{self.port}"\n'
            f'jetstream {{ store_dir: "{self.folder}", {self.storage} }}\n{self.settings}\n'
        )
        return [program, "-c", str(config)]

    @property
    def url(self) -> str:
        return f"nats://{HOST}:{self.port}"


class PostgresServer(Server):
    """Run by the `postgres` user where the tests are root, because the server refuses to."""

    OWNER = "postgres"

    def __init__(self) -> None:
        super().__init__()
        self._bin = self._programs()
        self.folder.chmod(0o755)
        self._data = self.folder / "data"
        self._data.mkdir()
        if os.getuid() == 0:
            user = pwd.getpwnam(self.OWNER)
            os.chown(self._data, user.pw_uid, user.pw_gid)
        self._data.chmod(0o700)
        initdb = [
            str(self._bin / "initdb"),
            "-D",
            str(self._data),
            "-A",
            "trust",
            "-U",
            self.OWNER,
            "--no-sync",
        ]
        subprocess.run(initdb, check=True, stdout=subprocess.DEVNULL, cwd="/", **self.options())

    def command(self) -> list[str]:
        settings = {
            "port": str(self.port),
            "listen_addresses": HOST,
            "unix_socket_directories": "",
            "max_connections": "200",
        }
        flags = [flag for name, value in settings.items() for flag in ("-c", f"{name}={value}")]
        return [str(self._bin / "postgres"), "-D", str(self._data), *flags]

    def answers(self) -> bool:
        """It accepts connections before it takes questions."""
        ready = [str(self._bin / "pg_isready"), "-q", "-h", HOST, "-p", str(self.port)]
        return subprocess.run(ready, check=False).returncode == 0

    def options(self) -> dict[str, Any]:
        return {"user": self.OWNER} if os.getuid() == 0 else {}

    def kill(self) -> None:
        """All of its processes: the others would keep the data folder in use for a moment."""
        assert self.process is not None
        subprocess.run(["pkill", "-KILL", "-P", str(self.process.pid)], check=False)
        super().kill()
        (self._data / "postmaster.pid").unlink(missing_ok=True)

    @property
    def owner_url(self) -> str:
        return f"postgresql://{self.OWNER}@{HOST}:{self.port}/postgres"

    @property
    def url(self) -> str:
        return f"postgresql://seamstream_app@{HOST}:{self.port}/postgres"

    @staticmethod
    def _programs() -> Path:
        versions = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
        found = binary("initdb", *(folder / "initdb" for folder in reversed(versions)))
        return Path(found).resolve().parent


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind((HOST, 0))
        return int(listener.getsockname()[1])
