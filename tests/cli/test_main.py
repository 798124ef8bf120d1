"""The command line itself."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from seamstream.cli.main import main


def test_the_installed_command_tells_its_version() -> None:
    command = Path(sys.executable).with_name("seamstream")
    done = subprocess.run([command, "--version"], check=True, capture_output=True, text=True)
    assert done.stdout == f"seamstream {version('seamstream')}\n"


@pytest.mark.parametrize("arguments", [[], ["unknown"]])
def test_a_wrong_command_is_a_usage_error(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    assert "usage: seamstream" in capsys.readouterr().err


def test_an_interrupt_is_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("seamstream.cli.demo.run", interrupted)
    assert main(["demo"]) == 130


def test_output_that_nobody_reads_any_more_is_no_traceback() -> None:
    command = Path(sys.executable).with_name("seamstream")
    process = subprocess.Popen([command, "demo"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with process as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.readline()
        running.stdout.close()
        assert running.stderr.read() == ""
        assert running.wait() == 1
