# ruff: noqa: SLF001, ARG002
"""Subclasses of aiohttp's reader without slots of their own: a live reader can be made one of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, cast

from aiohttp import StreamReader, client_reqrep

from ..lease import Watcher

CLOSED_BY_READER: Final = getattr(client_reqrep, "_CONNECTION_CLOSED_EXCEPTION", None)
"""What aiohttp sets on a body whose caller closes its response."""
feed_data: Callable[[StreamReader, bytes, int], Any] = StreamReader.feed_data


class TappedReader(StreamReader):
    """What the parser feeds is transformed before the caller can read it; ends and failures go to the
    watcher.
    """

    __slots__ = ()

    def feed_data(self, data: bytes, size: int = 0) -> bool:  # type: ignore[override,unused-ignore]
        out = self._protocol.feed(data)  # type: ignore[attr-defined]
        if out:
            feed_data(self, out, len(out))
        return False

    def feed_eof(self) -> None:
        _watcher(self).body_ended()

    def set_exception(self, exc: BaseException, exc_cause: BaseException | None = None) -> None:
        if exc is CLOSED_BY_READER:
            StreamReader.set_exception(self, exc)
            _watcher(self).reader_left()
        else:
            if exc_cause is not None and exc_cause is not exc:
                exc.__cause__ = exc_cause
            _watcher(self).body_broke(exc)


class ObservedReader(StreamReader):
    """The caller gets everything as stock aiohttp gives it; the watcher is told afterwards."""

    __slots__ = ()

    def feed_data(self, data: bytes, size: int = 0) -> bool:  # type: ignore[override,unused-ignore]
        feed_data(self, data, len(data))
        self._protocol.feed(data)  # type: ignore[attr-defined]
        return False

    def feed_eof(self) -> None:
        StreamReader.feed_eof(self)
        _watcher(self).body_ended()

    def set_exception(self, exc: BaseException, exc_cause: BaseException | None = None) -> None:
        if exc_cause is not None and exc_cause is not exc:
            exc.__cause__ = exc_cause
        StreamReader.set_exception(self, exc)
        if exc is CLOSED_BY_READER:
            _watcher(self).reader_left()
        else:
            _watcher(self).body_broke(exc)


class HeldReader(StreamReader):
    """Its end is the caller's at once, but aiohttp keeps the connection until `let_end`: whether it may be
    used again depends on whether the answer was whole.
    """

    __slots__ = ()

    def feed_eof(self) -> None:
        callbacks, self._eof_callbacks = self._eof_callbacks, []
        StreamReader.feed_eof(self)
        self._eof_callbacks = callbacks


class FailingReader(TappedReader):
    """Hands out what it holds and only then raises; the stock reader drops what was not read yet."""

    __slots__ = ()

    def _wait(self, func_name: str) -> Any:
        failure = self._protocol.failure  # type: ignore[attr-defined]
        StreamReader.set_exception(self, failure)
        raise failure

    async def wait_eof(self) -> None:
        self._wait("wait_eof")


def _watcher(reader: StreamReader) -> Watcher:
    return cast("Watcher", reader._protocol.watcher)  # type: ignore[attr-defined]
