"""What stands for the connection of a tapped response, and who is told about its body."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, Protocol


class Watcher(Protocol):
    """Who is told about a tapped body."""

    def body_ended(self) -> None: ...
    def body_broke(self, error: BaseException) -> None: ...
    def reader_left(self) -> None: ...
    def connection_left(self, *, close: bool) -> None: ...
    def reading_paused(self) -> None: ...
    def reading_resumed(self) -> None: ...


class Lease:
    """Stands for the connection of a tapped response, over all attempts.

    aiohttp hangs the end of its total timeout on `response.connection`, and releases or closes it however a
    response is left (end of body, `async with`, `close()`, garbage collection).
    """

    __slots__ = ("_callbacks", "_watcher", "upstream")

    def __init__(self, upstream: Any, watcher: Watcher) -> None:
        self.upstream = upstream
        self._watcher = watcher
        self._callbacks: list[Callable[[], None]] = []

    @property
    def protocol(self) -> Any:
        return self.upstream.protocol if self.upstream is not None else None

    @property
    def transport(self) -> Any:
        return self.upstream.transport if self.upstream is not None else None

    @property
    def closed(self) -> bool:
        return self.upstream is None or bool(self.upstream.closed)

    def add_callback(self, callback: Callable[[], None] | None) -> None:
        if callback is not None:
            self._callbacks.append(callback)

    def close(self) -> None:
        self._let_go(close=True)

    def release(self) -> None:
        self._let_go(close=False)

    def _let_go(self, *, close: bool) -> None:
        callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            with contextlib.suppress(Exception):
                callback()
        self._watcher.connection_left(close=close)
