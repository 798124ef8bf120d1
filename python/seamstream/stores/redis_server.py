"""The connections to a Redis server, its scripts, and the names of keys there."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from contextlib import suppress
from typing import Any, Final, TypeVar

from ..clock import Clock, SystemClock
from ..errors import StoreError, StoreLimitError
from .extras import load_driver
from .in_time import DEFAULT_TIMEOUT_S, in_time
from .keys import escape

T = TypeVar("T")

PAGE: Final = 256
BLOCK_MS: Final = 500
"""How long those who wait sleep in the server before they look by themselves."""
CLOSE_S: Final = 2.0
BULK_BYTES: Final = 512 * 1024 * 1024
"""The largest value that a server takes unless its `proto-max-bulk-len` says otherwise."""


class RedisServer:
    """What the parts of a `RedisBackend` ask their server with."""

    server_name = "Redis"

    def __init__(
        self,
        url: str,
        *,
        prefix: str = "seamstream",
        timeout_s: float = DEFAULT_TIMEOUT_S,
        clock: Clock | None = None,
    ) -> None:
        driver = load_driver("redis.asyncio", "redis")
        self._driver_errors = load_driver("redis.exceptions", "redis")
        # A script that changes something must not be sent twice because its answer was lost.
        self._redis = driver.Redis.from_url(url, protocol=2, retry=None)
        self._prefix = prefix
        self.timeout_s = timeout_s
        self._clock = clock or SystemClock()
        self._scripts: dict[str, Any] = {}
        self._bulk_bytes = BULK_BYTES

    @in_time
    async def _connect(self) -> None:
        await self._ask(self._redis.ping())
        with suppress(StoreError):  # an account may be kept from reading the configuration
            name = "proto-max-bulk-len"
            self._bulk_bytes = int((await self._ask(self._redis.config_get(name)))[name])

    async def aclose(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_S):
                await self._redis.aclose()

    def _name(self, tenant: str, *parts: str) -> str:
        """A tenant's keys share a hash tag, and so a slot."""
        return ":".join((self._prefix, "{" + escape(tenant) + "}", *parts))

    async def _call(self, script: str, keys: list[str], arguments: Sequence[Any]) -> Any:
        for argument in arguments:
            if isinstance(argument, bytes) and len(argument) > self._bulk_bytes:
                raise StoreLimitError(
                    f"this Redis takes values up to {self._bulk_bytes} bytes (proto-max-bulk-len),"
                    f" not {len(argument)}"
                )
        if script not in self._scripts:
            self._scripts[script] = self._redis.register_script(script)
        return await self._ask(self._scripts[script](keys=keys, args=arguments))

    async def _ask(self, question: Awaitable[T]) -> T:
        try:
            return await question
        except self._driver_errors.OutOfMemoryError as error:
            raise StoreLimitError(f"Redis has a limit (maxmemory): {error}") from error
        except (self._driver_errors.RedisError, OSError) as error:
            raise StoreError(f"Redis failed: {error}") from error


def ttl_ms(ttl_s: float | None) -> int:
    return -1 if ttl_s is None else max(1, to_ms(ttl_s))


def to_ms(seconds: float) -> int:
    return round(seconds * 1000)
