"""PostgreSQL keeps tenants apart by itself: by direct SQL, and with a pool of one for several tenants."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest

from seamstream.errors import ConfigurationError
from seamstream.stores import open_store
from seamstream.stores.keys import escape
from seamstream.stores.postgres import PostgresBackend
from seamstream.stores.postgres_migrations import migrate
from seamstream.testing.contract_helpers import is_gone, until
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


WAYS_AROUND = {
    "superuser": ("SUPERUSER", "", "is SUPERUSER"),
    "bypasser": ("BYPASSRLS", "", "has BYPASSRLS"),
    "maker": ("CREATEROLE", "", "has CREATEROLE"),
    "member_of_owner": ("", "GRANT keeper TO {}", "member of 'keeper', which owns the tables"),
    "member_of_member": ("NOINHERIT", "GRANT between TO {}", "member of 'keeper', which owns the tables"),
    "member_of_bypasser": ("", "GRANT passer TO {}", "member of 'passer', which has BYPASSRLS"),
    "member_of_superuser": ("", "GRANT postgres TO {}", "member of 'postgres', which is SUPERUSER"),
    "runs_programs": (
        "",
        "GRANT pg_execute_server_program TO {}",
        "server_program', which reaches",
    ),
}


@pytest.fixture
async def kept_by_another(postgres_server: PostgresServer) -> AsyncIterator[asyncpg.Connection]:
    """The tables belong to a role that is no superuser, as they should."""
    owner = await asyncpg.connect(postgres_server.owner_url)
    await owner.execute(
        "CREATE ROLE keeper LOGIN; CREATE ROLE between IN ROLE keeper; CREATE ROLE passer BYPASSRLS"
    )
    for table in TABLES:
        await owner.execute(f"ALTER TABLE seamstream.{table} OWNER TO keeper")
    try:
        yield owner
    finally:
        for table in TABLES:
            await owner.execute(f"ALTER TABLE seamstream.{table} OWNER TO postgres")
        await owner.execute("DROP ROLE between; DROP ROLE keeper; DROP ROLE passer")
        await owner.close()


@pytest.mark.parametrize("role", WAYS_AROUND)
async def test_a_role_that_can_get_around_the_policies_is_refused(
    postgres_server: PostgresServer, kept_by_another: asyncpg.Connection, role: str
) -> None:
    attributes, grant, reason = WAYS_AROUND[role]
    await kept_by_another.execute(f"CREATE ROLE {role} LOGIN IN ROLE seamstream_app {attributes}")
    await kept_by_another.execute(grant.format(role) or "SELECT")
    try:
        with pytest.raises(ConfigurationError, match=reason):
            await PostgresBackend(postgres_server.url.replace("seamstream_app", role)).open()
    finally:
        await kept_by_another.execute(f"DROP ROLE {role}")


async def test_the_owner_of_the_tables_is_refused(
    postgres_server: PostgresServer, kept_by_another: asyncpg.Connection
) -> None:
    await kept_by_another.execute("GRANT seamstream_app TO keeper")
    with pytest.raises(ConfigurationError, match="'keeper' owns the tables"):
        await PostgresBackend(postgres_server.url.replace("seamstream_app", "keeper")).open()


async def test_a_plain_member_is_served(
    postgres_server: PostgresServer, kept_by_another: asyncpg.Connection
) -> None:
    await kept_by_another.execute("CREATE ROLE plain LOGIN IN ROLE seamstream_app")
    try:
        store = await PostgresBackend(postgres_server.url.replace("seamstream_app", "plain")).open()
        assert await store.put("plain", ("k",), b"x")
        await store.aclose()
    finally:
        await kept_by_another.execute("DROP ROLE plain")


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


async def test_the_sweep_of_an_owner_who_is_no_superuser_reaches_what_has_expired_only(
    postgres_server: PostgresServer,
) -> None:
    superuser = await asyncpg.connect(postgres_server.owner_url)
    await superuser.execute("CREATE ROLE deployer LOGIN")
    await superuser.execute("CREATE DATABASE deployed OWNER deployer")
    try:
        deployed = postgres_server.owner_url.rpartition("/")[0] + "/deployed"
        await migrate(deployed.replace("postgres@", "deployer@"), role="seamstream_app")
        async with open_store(deployed.replace("postgres@", "seamstream_app@")) as store:
            await store.put("away", ("gone",), b"x", ttl_s=0.001)
            await store.append("away", ("gone",), [b"x"], ttl_s=0.001)
            await store.put("away", ("kept",), b"x", ttl_s=60.0)
            await store.append("away", ("kept",), [b"x"], ttl_s=60.0)
            await until(lambda: is_gone(store, "away", ("gone",)))
            await store.put("here", ("k",), b"x")
        inside = await asyncpg.connect(deployed)
        for table in ("record", "log", "entry"):
            sql = f"SELECT count(*) FROM seamstream.{table} WHERE tenant = 'away'"
            assert await inside.fetchval(sql) == 1, table
        await inside.close()
    finally:
        await superuser.execute("DROP DATABASE deployed WITH (FORCE)")
        await superuser.execute("DROP ROLE deployer")
        await superuser.close()
