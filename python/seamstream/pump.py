"""The one task of a run whose stream was cut: performs the driver's effects and feeds the reader that is
there.
"""

from __future__ import annotations

import asyncio
import weakref
from typing import Protocol

from .effects import Effect, Emit, Fail, Finish
from .runner import AsyncRunner


class Outlet(Protocol):
    """Where a pump's output goes."""

    def take(self, effect: Effect) -> None: ...


class Pump:
    """Holds its outlet weakly: when the reader drops its response, the pump ends and closes its upstream."""

    def __init__(self, outlet: Outlet, runner: AsyncRunner, *, paused: bool) -> None:
        loop = asyncio.get_running_loop()
        self._runner = runner
        self._outlet = weakref.ref(
            outlet, lambda _: loop.is_closed() or loop.call_soon_threadsafe(self.cancel)
        )
        self._writable = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self.set_paused(paused)

    def start(self, effect: Effect) -> None:
        """Begin with an effect that came up while nobody could wait."""
        self._task = asyncio.get_running_loop().create_task(self._run(effect), name="seamstream-pump")

    def cancel(self) -> None:
        """The reader has left."""
        if self._task is not None and not self._task.done():
            self._task.cancel()

    def set_paused(self, paused: bool) -> None:
        """Back-pressure: while the reader is full nothing is read from upstream."""
        if paused:
            self._writable.clear()
        else:
            self._writable.set()

    async def _run(self, effect: Effect) -> None:
        try:
            await self._runner.carry_on(effect)
            while (output := await self._runner.next()) is not None:
                self._give(output)
                if isinstance(output, Emit):
                    await self._writable.wait()
        except Exception as error:
            self._give(Fail(error))
        finally:
            self._runner.cancel()

    def _dropped(self, loop: asyncio.AbstractEventLoop) -> None:
        """The garbage collector took the outlet, maybe in another thread."""
        if not loop.is_closed():
            loop.call_soon_threadsafe(self.cancel)

    def _give(self, output: Effect) -> None:
        outlet = self._outlet()
        if outlet is not None and isinstance(output, Emit | Finish | Fail):
            outlet.take(output)
