"""One Node process that reads answers for as long as the tests run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
NODE = Path(sys.executable).parent / "node"


class Node:
    """A line in, a line out; one answer at a time."""

    def __init__(self) -> None:
        command = [str(NODE), str(HERE / "reader.mjs")]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
        )

    def ask(self, reader: str, url: str) -> dict[str, Any]:
        """`{"read": ...}` or `{"error": ...}`; blocks until the SDK is done."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"reader": reader, "url": url}) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"node ended with {self._process.wait()}")
        told: dict[str, Any] = json.loads(line)
        return told

    def stop(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(timeout=10)
        self._process.stdout.close()
