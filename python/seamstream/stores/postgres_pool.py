"""The connections to a PostgreSQL server, and transactions that know one tenant each."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Final, TypeVar

from ..clock import Clock, SystemClock
from ..errors import StoreError, StoreLimitError
from .extras import load_driver
from .in_time import DEFAULT_TIMEOUT_S, in_time
from .keys import escape
from .postgres_bell import Bell
from .postgres_migrations import SCHEMA
from .postgres_roles import check_role, check_tables

T = TypeVar("T")

PAGE: Final = 256
SWEPT: Final = 16
"""How much of what has expired, of any tenant, a write removes on its way."""
VALUE_BYTES: Final = 2**30 - 2**16
"""A field, and the message that brings it, are smaller than 1 GiB."""
CLOSE_S: Final = 2.0
UNTIL: Final = "clock_timestamp() + make_interval(secs => {})"


class PostgresPool:
    """What the parts of a `PostgresBackend` ask their server with."""

    server_name = "PostgreSQL"

    def __init__(
        self,
        url: str,
        *,
        max_connections: int = 10,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        clock: Clock | None = None,
    ) -> None:
        self._clock = clock or SystemClock()
        self._url = url
        self._driver = load_driver("asyncpg", "postgres")
        self._errors = (self._driver.PostgresError, self._driver.InterfaceError, OSError, TimeoutError)
        self._max_connections = max_connections
        self.timeout_s = timeout_s
        self._pool: Any = None
        self._bell = Bell(self._connect, self._errors)

    @in_time
    async def _open(self) -> None:
        try:
            self._pool = await self._driver.create_pool(
                self._url,
                min_size=1,
                max_size=self._max_connections,
                timeout=self.timeout_s,
                command_timeout=self.timeout_s,
                server_settings={"search_path": SCHEMA},
            )
            await check_role(self._pool)
            await check_tables(self._pool)
        except self._errors as error:
            raise StoreError(f"PostgreSQL cannot be reached: {error!r}") from error

    async def aclose(self) -> None:
        try:
            async with asyncio.timeout(CLOSE_S):
                await self._bell.aclose()
                if self._pool is not None:
                    await self._pool.close()
        except TimeoutError:
            self._pool.terminate()

    async def _connect(self) -> Any:
        return await self._driver.connect(self._url, timeout=self.timeout_s, command_timeout=self.timeout_s)

    @in_time
    async def _rung(self, rung: asyncio.Event) -> None:
        """Wait for what that event tells of, but not for ever."""
        await self._bell.wait(rung)

    async def _in_transaction(self, tenant: str, work: Callable[[Any], Awaitable[T]]) -> T:
        """Do it for that tenant, in one transaction that alone knows of him."""
        if self._pool is None:
            raise StoreError("the store is not open")
        try:
            connection = await self._pool.acquire(timeout=self.timeout_s)
            try:
                return await self._transaction(connection, tenant, work)
            finally:
                await self._pool.release(connection)
        except self._driver.ProgramLimitExceededError as error:
            raise StoreLimitError(f"PostgreSQL has a limit: {error}") from error
        except self._driver.InsufficientResourcesError as error:
            raise StoreLimitError(f"PostgreSQL has a limit: {error}") from error
        except self._errors as error:
            raise StoreError(f"PostgreSQL failed: {error!r}") from error

    async def _transaction(self, connection: Any, tenant: str, work: Callable[[Any], Awaitable[T]]) -> T:
        """An escaped tenant needs no quoting, so that it goes with BEGIN."""
        try:
            await connection.execute(
                f"BEGIN; SELECT set_config('seamstream.tenant', '{escape(tenant)}', true)"
            )
            result = await work(connection)
            await connection.execute("COMMIT")
        except self._driver.PostgresError:
            with suppress(*self._errors):
                await connection.execute("ROLLBACK")
            raise
        except BaseException:  # nobody knows what the server will still say on it
            connection.terminate()
            raise
        return result

    async def _row(self, tenant: str, sql: str, *values: Any) -> Any:
        return await self._in_transaction(
            tenant, lambda connection: connection.fetchrow(sql, escape(tenant), *values)
        )

    async def _rows(self, tenant: str, sql: str, *values: Any) -> list[Any]:
        return await self._in_transaction(
            tenant, lambda connection: connection.fetch(sql, escape(tenant), *values)
        )


def digest(tenant: str, kind: str, name: str) -> str:
    """What a notification says: recognised by those who wait for it, and telling nothing to others."""
    return hashlib.sha256("\0".join((escape(tenant), kind, name)).encode()).hexdigest()


def within_limit(value: bytes) -> bytes:
    """The value, if PostgreSQL can keep it."""
    if len(value) > VALUE_BYTES:
        raise StoreLimitError(f"PostgreSQL takes values up to {VALUE_BYTES} bytes, not {len(value)}")
    return value


async def ring(connection: Any, name: str) -> None:
    """Wake those who wait for that digest, once the transaction is committed."""
    await connection.execute("SELECT pg_notify('seamstream', $1)", name)
