"""Start, stop, kill and restart a real model behind llama.cpp's OpenAI- and Anthropic-shaped HTTP server.

For the weights of a base model the chat template is as plain as can be: the turns, with a blank line between
them. What the model writes reads like a document, and a trailing assistant turn is simply its beginning. A
model that was taught to chat brings its own template.
"""

from __future__ import annotations

import selectors
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

PLAIN_TEMPLATE = (
    r"{% for message in messages %}{{ message.content }}"
    r"{% if not loop.last %}{{ '\n\n' }}{% endif %}{% endfor %}"
    r"{% if add_generation_prompt %}{{ '\n\n' }}{% endif %}"
)
OWN_TEMPLATE = ""
CHILD_PROGRAM = Path(__file__).with_name("llama_child.py")
START_S = 60.0
STOP_S = 10.0
ANY_FREE_PORT = 0


class LlamaServer:
    """One llama.cpp process. `log_path` collects what it writes, over all its lives. With `cache` it is
    faster, but the same request may have another answer the next time.
    """

    def __init__(
        self, weights: Path, log_path: Path, *, chat_template: str = PLAIN_TEMPLATE, cache: bool = False
    ) -> None:
        self._settings = (chat_template, "cache" if cache else "")
        self._weights = weights
        self._log_path = log_path
        self._process: subprocess.Popen[bytes] | None = None
        self.url = ""

    @property
    def port(self) -> int:
        return urlsplit(self.url).port or ANY_FREE_PORT

    @property
    def pid(self) -> int:
        return self._running().pid

    def start(self) -> None:
        """Returns once it serves; on the port it had before, if it ran before."""
        with self._log_path.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, str(CHILD_PROGRAM), str(self._weights), str(self.port), *self._settings],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
            )
        self.url = self._read_address()

    def stop(self) -> None:
        """End it with SIGTERM, and with SIGKILL when that takes too long. It may be ended already."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
        self._reap()

    def kill(self) -> None:
        """SIGKILL, as the kernel's memory killer does it: open responses end wherever they are."""
        self._running().kill()
        self._reap()

    def log(self) -> str:
        return self._log_path.read_text(errors="replace") if self._log_path.exists() else ""

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            raise RuntimeError("the model server is not running")
        return self._process

    def _read_address(self) -> str:
        stdout = self._running().stdout
        assert stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(stdout, selectors.EVENT_READ)
            line = stdout.readline().decode().strip() if selector.select(START_S) else ""
        if not line.startswith("http://"):
            self.stop()
            raise RuntimeError(f"the model server did not come up in {START_S:g} s:\n{self.log()}")
        return line

    def _reap(self) -> None:
        process, self._process = self._running(), None
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()
