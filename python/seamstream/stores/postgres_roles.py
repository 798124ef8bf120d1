"""Refuses a role that can get around row-level security, in one step or in several."""

from __future__ import annotations

from typing import Any, Final

from ..errors import ConfigurationError
from .postgres_migrations import SCHEMA

_TABLES: Final = f"""(
SELECT held.* FROM pg_class AS held JOIN pg_namespace AS place ON place.oid = held.relnamespace
WHERE nspname = '{SCHEMA}' AND relname IN ('record', 'log', 'entry', 'job')
) AS held"""
_SERVER_ACCESS: Final = ("pg_execute_server_program", "pg_read_server_files", "pg_write_server_files")

# Of the role that has logged in: it can become each role that it is a member of, itself among them.
_REACHABLE: Final = f"""
SELECT session_user AS me, rolname AS name, rolsuper, rolbypassrls, rolcreaterole,
    rolname = ANY($1) AS server_access,
    EXISTS (SELECT FROM {_TABLES} WHERE relowner = pg_roles.oid) AS owner
FROM pg_roles WHERE pg_has_role(session_user, oid, 'MEMBER')
ORDER BY rolname <> session_user, rolname
"""
_WAYS: Final = {
    "rolsuper": "is SUPERUSER",
    "rolbypassrls": "has BYPASSRLS",
    "owner": "owns the tables, and can lift their policies",
    "rolcreaterole": "has CREATEROLE, and can make itself a member of the tables' owner",
    "server_access": "reaches the server's files or programs",
}


async def check_role(pool: Any) -> None:
    """A role that bypasses row-level security, or can become one that does, is a ConfigurationError."""
    for role in await pool.fetch(_REACHABLE, _SERVER_ACCESS):
        for way, reason in _WAYS.items():
            if role[way]:
                through = "" if role["me"] == role["name"] else f" is a member of {role['name']!r}, which"
                raise ConfigurationError(
                    f"the role {role['me']!r}{through} {reason}: it bypasses row-level security, which keeps"
                    " tenants apart; use one that migrate() has made"
                )


async def check_tables(pool: Any) -> None:
    """Tables that are missing, of an older version or without forced policies are a ConfigurationError."""
    forced = await pool.fetchval(
        f"SELECT count(*) FROM {_TABLES} WHERE relrowsecurity AND relforcerowsecurity"
    )
    if forced != 4:
        raise ConfigurationError(
            "the tables of seamstream are missing or without forced row-level security;"
            " let their owner run seamstream.stores.postgres_migrations.migrate"
        )
    if await pool.fetchval("SELECT to_regprocedure('sweep(integer)')") is None:
        raise ConfigurationError(
            "the tables of seamstream are of an older version;"
            " let their owner run seamstream.stores.postgres_migrations.migrate"
        )
