"""Tries at import, on a reader of its own, whether the installed aiohttp still works as `aiohttp_internals`
needs it.

`problem` is None when it does. Else recovery stays out of the way: streams pass as they are, with one
warning.
"""

from __future__ import annotations

from typing import Any, Final

from aiohttp import StreamReader

from . import aiohttp_internals as internals

_LIMIT_BYTES: Final = 8


class _Probe:
    """A protocol, a connection and a watcher in one, that writes down what it is told."""

    transport = None
    _reading_paused = False

    def __init__(self) -> None:
        self.calls: list[str] = []

    def pause_reading(self) -> None:
        self.calls.append("pause")

    def body_ended(self) -> None:
        self.calls.append("ended")

    def body_broke(self, error: BaseException) -> None:
        self.calls.append(type(error).__name__)

    def reader_left(self) -> None:
        self.calls.append("left")

    def connection_left(self, *, close: bool) -> None:
        self.calls.append("closed" if close else "released")

    def reading_paused(self) -> None:
        self.calls.append("paused")

    def reading_resumed(self) -> None:
        self.calls.append("resumed")


def _try() -> str | None:
    try:
        return internals.missing_names() or _try_reader()
    except Exception as error:  # whatever it is, it means that this aiohttp is not the one we know
        return f"{type(error).__name__}: {error}"


def _try_reader() -> str | None:
    probe: Any = _Probe()
    loop: Any = object()
    reader = StreamReader(probe, _LIMIT_BYTES, loop=loop)
    reader.feed_data(b"head")
    response = internals.blank_response(reader, probe)
    body = internals.TappedBody(response, bytes.upper, probe)
    body.push(body.take_received())
    reader.feed_data(b"tail, above the limit")
    if reader.read_nowait() != b"headTAIL, ABOVE THE LIMIT":
        return "a tapped reader does not transform"
    reader.feed_eof()
    reader.set_exception(ValueError("broken"))
    connection: Any = response.connection
    connection.release()
    body.push(b"rest")
    body.fail(KeyError("late"))
    if reader.read_nowait() != b"rest" or reader.exception() is not None:
        return "a failing reader loses bytes"
    response.close()
    told = ["pause", "paused", "resumed", "ended", "ValueError", "released", "left"]
    return None if probe.calls == told else f"a tapped reader tells {probe.calls}"


problem: Final = _try()
