"""Makes the tables of the PostgreSQL backend: run by their owner, when seamstream is installed or upgraded.

    await migrate("postgresql://owner@db/app", role="seamstream_app")

The role of daily use is another one and gets no more than it needs; it is made here if it does not exist.
"""

from __future__ import annotations

import re
from importlib import resources
from typing import Any, Final

from ..errors import ConfigurationError
from .extras import load_driver

SCHEMA: Final = "seamstream"
_ROLE: Final = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_LOCK: Final = 0x5EA3_57E4
"""Two deployments that migrate at once take turns."""


async def migrate(url: str, *, role: str) -> list[str]:
    """Apply the migrations that are missing, each in one transaction, and return their names.

    `url` is the owner's. `role`: who will use the tables; ConfigurationError for a name that is no plain one.
    """
    if not _ROLE.fullmatch(role):
        raise ConfigurationError(f"{role!r} is no plain name of a role")
    driver = load_driver("asyncpg", "postgres")
    connection = await driver.connect(url)
    try:
        await connection.execute("SELECT pg_advisory_lock($1)", _LOCK)
        return await _apply(connection, role)
    finally:
        await connection.close()


async def _apply(connection: Any, role: str) -> list[str]:
    await connection.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}; SET search_path = {SCHEMA}")
    await connection.execute("CREATE TABLE IF NOT EXISTS migration (name text PRIMARY KEY)")
    done = {row["name"] for row in await connection.fetch("SELECT name FROM migration")}
    applied = []
    for name, sql in _migrations():
        if name not in done:
            async with connection.transaction():
                await connection.execute(sql)
                await connection.execute("INSERT INTO migration VALUES ($1)", name)
            applied.append(name)
    await _grant(connection, role)
    return applied


async def _grant(connection: Any, role: str) -> None:
    if not await connection.fetchval("SELECT 1 FROM pg_roles WHERE rolname = $1", role):
        await connection.execute(f"CREATE ROLE {role} LOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE")
    await connection.execute(
        f"GRANT USAGE ON SCHEMA {SCHEMA} TO {role};"
        f"GRANT SELECT, INSERT, UPDATE, DELETE ON record, log, entry, job TO {role};"
        f"GRANT USAGE ON ALL SEQUENCES IN SCHEMA {SCHEMA} TO {role};"
        f"GRANT EXECUTE ON FUNCTION sweep(integer) TO {role}"
    )


def _migrations() -> list[tuple[str, str]]:
    folder = resources.files(__package__) / "migrations"
    files = sorted(
        (file for file in folder.iterdir() if file.name.endswith(".sql")), key=lambda file: file.name
    )
    return [(file.name, file.read_text(encoding="utf-8")) for file in files]
