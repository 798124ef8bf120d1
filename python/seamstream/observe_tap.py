"""A live aiohttp response that is only watched: the reader gets exactly what stock aiohttp gives."""

from __future__ import annotations

import asyncio
import weakref
from typing import Any

from aiohttp import ClientResponse

from .alarm import Alarm
from .driver.observing import Observer
from .effects import Broke
from .transports import aiohttp_internals as internals


class ObservingTap:
    """Tells an observer what passes. Nothing here may raise into aiohttp's parser, or change what it does."""

    def __init__(self, response: ClientResponse, observer: Observer) -> None:
        self._observer = observer
        self._protocol = internals.protocol_of(response)
        self._ended = False
        reference = weakref.ref(self)
        self._alarm = Alarm(observer.clock, observer.intake, lambda: _call(reference))
        observer.intake.rearm = self._alarm.arm
        observer.intake.wake = observer.look
        internals.observe_body(response, self._feed, self)
        if not observer.over:
            self._alarm.arm()

    def body_ended(self) -> None:
        self._over(None)

    def body_broke(self, error: BaseException) -> None:
        self._over(error)

    def reader_left(self) -> None:
        self._alarm.stop()
        if not self._ended:
            self._observer.left()

    def connection_left(self, *, close: bool) -> None:
        """Never told: the connection of an observed response is aiohttp's own business."""

    def reading_paused(self) -> None:
        self._observer.timers.pause(self._observer.clock.monotonic())

    def reading_resumed(self) -> None:
        timers = self._observer.timers
        if timers.paused_at is not None and not self._observer.over:
            timers.resume(self._observer.clock.monotonic())
            self._alarm.arm()

    def timer_due(self) -> None:
        self._observer.timer()
        if not self._observer.over:
            self._alarm.arm()

    def _feed(self, data: bytes) -> bytes:
        if not self._observer.over:
            self._observer.intake.receive(data)
        return data

    def _over(self, error: BaseException | None) -> None:
        """Later in the loop, when the protocol knows why."""
        self._alarm.stop()
        self._ended = True
        asyncio.get_running_loop().call_soon(self._tell, error)

    def _tell(self, error: BaseException | None) -> None:
        self._observer.ended(Broke(internals.end_of_body(error, self._protocol), error))


def _call(reference: weakref.ref[Any]) -> None:
    tap = reference()
    if tap is not None:
        tap.timer_due()
