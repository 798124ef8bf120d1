# ruff: noqa: SLF001, ARG002
"""What a tapped reader has in place of its protocol."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..lease import Watcher


class StandIn:
    """Takes the protocol's place at a tapped reader: `feed` transforms, flow control is forwarded and
    reported.

    `connected` stays true because the reader outlives attempt 1's connection. Forwarding only real changes
    spares aiohttp's parser an empty run for every read.
    """

    __slots__ = ("_reading_paused", "failure", "feed", "protocol", "watcher")

    connected = True

    def __init__(self, protocol: Any, feed: Callable[[bytes], bytes], watcher: Watcher) -> None:
        self.protocol = protocol
        self.feed = feed
        self.watcher = watcher
        self.failure: BaseException | None = None
        self._reading_paused = bool(protocol is not None and protocol._reading_paused)

    def pause_reading(self) -> None:
        if self._reading_paused:
            return
        self._reading_paused = True
        if self.protocol is not None:
            self.protocol.pause_reading()
        self.watcher.reading_paused()

    def resume_reading(self, resume_parser: bool = True) -> None:
        if not self._reading_paused:
            return
        self._reading_paused = False
        if self.protocol is not None and self.protocol.transport is not None:
            self.protocol.resume_reading()
        self.watcher.reading_resumed()


class ObservingStandIn(StandIn):
    """Takes the protocol's place at an observed reader, whose life is that of its connection."""

    __slots__ = ()

    @property
    def connected(self) -> bool:  # type: ignore[override]
        return bool(self.protocol.connected)
