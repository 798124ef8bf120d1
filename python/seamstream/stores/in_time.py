"""Makes every call of a store over a network end in time, whatever its server or its driver does.

A server may be frozen, or a peer may take the connection and say nothing. Each method that asks a server is
declared `@in_time` and then ends within the store's `timeout_s`, plus what its caller lets it wait for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from functools import update_wrapper
from typing import Any, Concatenate, Final, ParamSpec, Protocol, TypeVar

from ..errors import StoreError

DEFAULT_TIMEOUT_S: Final = 10.0


class Timed(Protocol):
    """What such a store has: the seconds that a call may take, and the name of its server for the error."""

    timeout_s: float
    server_name: str


S = TypeVar("S", bound=Timed)
P = ParamSpec("P")
T = TypeVar("T")


def in_time(
    method: Callable[Concatenate[S, P], Awaitable[T]],
) -> Callable[Concatenate[S, P], Coroutine[Any, Any, T]]:
    """That method, with a StoreError when it has not ended in time; `wait_s=` comes on top."""

    async def bounded(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        wait_s = kwargs.get("wait_s", 0.0)
        assert isinstance(wait_s, int | float)
        try:
            async with asyncio.timeout(self.timeout_s + wait_s):
                return await method(self, *args, **kwargs)
        except TimeoutError as error:
            raise StoreError(f"{self.server_name} did not answer within {self.timeout_s:g} s") from error

    update_wrapper(bounded, method)
    return bounded
