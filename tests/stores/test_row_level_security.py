"""PostgreSQL keeps tenants apart by itself: by direct SQL, and with a pool of one for several tenants."""

from __future__ import annotations

import asyncio

import asyncpg
import pytest

from seamstream.errors import ConfigurationError
from seamstream.stores.keys import escape
from seamstream.stores.postgres import PostgresBackend
from seamstream.stores.postgres_migrations import migrate
from tests.stores.servers import PostgresServer

TABLES = ("record", "log", "entry", "job")


@pytest.fixture
async def filled(postgres_server: PostgresServer) -> PostgresServer:
    store = await PostgresBackend(postgres_server.url, max_connections=1).open()
    for tenant in ("rls-a", "rls-b"):
        await store.put(tenant, ("k",), tenant.encode())
        await store.append(tenant, ("l",), [tenant.encode()])
        await store.enqueue(tenant, "q", tenant.encode())
    await store.aclose()
    return postgres_server


async def test_a_pool_of_one_serves_alternating_tenants(postgres_server: PostgresServer) -> None:
    store = await PostgresBackend(postgres_server.url, max_connections=1).open()
    try:
        tenants = [f"alternating-{number % 3}" for number in range(60)]
        await asyncio.gather(*(store.append(tenant, ("l",), [tenant.encode()]) for tenant in tenants))
        for tenant in tenants[:3]:
            assert {entry.value for entry in await store.read(tenant, ("l",))} == {tenant.encode()}
            assert len(await store.read(tenant, ("l",))) == 20
    finally:
        await store.aclose()


@pytest.mark.parametrize("table", TABLES)
async def test_sql_without_a_tenant_sees_nothing(filled: PostgresServer, table: str) -> None:
    connection = await asyncpg.connect(filled.url, server_settings={"search_path": "seamstream"})
    try:
        assert await connection.fetchval(f"SELECT count(*) FROM {table}") == 0
    finally:
        await connection.close()


async def test_sql_of_one_tenant_reaches_no_row_of_another(filled: PostgresServer) -> None:
    connection = await asyncpg.connect(filled.url, server_settings={"search_path": "seamstream"})
    mine, other = escape("rls-a"), escape("rls-b")
    try:
        await connection.execute("SELECT set_config('seamstream.tenant', $1, false)", mine)
        for table in TABLES:
            assert {row[0] for row in await connection.fetch(f"SELECT tenant FROM {table}")} == {mine}
            changed = await connection.execute(f"UPDATE {table} SET tenant = $1 WHERE tenant = $1", other)
            assert changed == "UPDATE 0"
            assert await connection.execute(f"DELETE FROM {table} WHERE tenant = $1", other) == "DELETE 0"
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await connection.execute("UPDATE record SET tenant = $1", other)
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await connection.execute("INSERT INTO record (tenant, key, value) VALUES ($1, 'x', '')", other)
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await connection.execute("ALTER TABLE record DISABLE ROW LEVEL SECURITY")
    finally:
        await connection.close()


async def test_a_role_that_bypasses_the_policies_is_refused(postgres_server: PostgresServer) -> None:
    with pytest.raises(ConfigurationError, match="bypasses row-level security"):
        await PostgresBackend(postgres_server.owner_url).open()
    owner = await asyncpg.connect(postgres_server.owner_url)
    await owner.execute("DROP ROLE IF EXISTS bypasser; CREATE ROLE bypasser LOGIN BYPASSRLS")
    await owner.close()
    with pytest.raises(ConfigurationError, match="bypasses row-level security"):
        await PostgresBackend(postgres_server.url.replace("seamstream_app", "bypasser")).open()


async def test_tables_without_forced_policies_are_refused(postgres_server: PostgresServer) -> None:
    owner = await asyncpg.connect(postgres_server.owner_url)
    try:
        await owner.execute("ALTER TABLE seamstream.job NO FORCE ROW LEVEL SECURITY")
        with pytest.raises(ConfigurationError, match="forced row-level security"):
            await PostgresBackend(postgres_server.url).open()
    finally:
        await owner.execute("ALTER TABLE seamstream.job FORCE ROW LEVEL SECURITY")
        await owner.close()


async def test_migrations_are_applied_once_and_by_one_at_a_time(postgres_server: PostgresServer) -> None:
    applied = await asyncio.gather(
        *(migrate(postgres_server.owner_url, role="seamstream_app") for _ in range(3))
    )
    assert applied == [[], [], []]
    with pytest.raises(ConfigurationError):
        await migrate(postgres_server.owner_url, role='x"; DROP SCHEMA seamstream')
