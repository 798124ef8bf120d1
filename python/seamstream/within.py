"""A time limit on the clock that a test may hold, for calls that may never answer."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from .clock import Clock

T = TypeVar("T")


async def within(clock: Clock, seconds: float, call: Coroutine[Any, Any, T]) -> T:
    """What the call gives; TimeoutError after that time, whether or not the call lets itself be cancelled."""
    task = asyncio.ensure_future(call)
    try:
        done = await finished(clock, seconds, task)
    except BaseException:
        task.cancel()
        raise
    if not done:
        task.cancel()
        raise TimeoutError(f"no answer within {seconds:g} s")
    return task.result()


async def finished(clock: Clock, seconds: float, task: asyncio.Task[Any]) -> bool:
    """Wait so long for a task, and no longer; is it done?"""
    expired = asyncio.Event()
    timer = clock.call_later(seconds, expired.set)
    waiting = asyncio.ensure_future(expired.wait())
    try:
        await asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        timer.cancel()
        waiting.cancel()
    return task.done()
