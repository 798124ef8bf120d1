"""Work in PostgreSQL: a row each, due when its lease or its delay is over, claimed with SKIP LOCKED."""

from __future__ import annotations

import asyncio
from typing import Any

from .backend import Job
from .in_time import in_time
from .keys import escape
from .postgres_pool import UNTIL, PostgresPool, digest, ring, within_limit


class PostgresWork(PostgresPool):
    """The queues of a `PostgresBackend`."""

    @in_time
    async def enqueue(self, tenant: str, queue: str, body: bytes, *, delay_s: float = 0.0) -> str:
        job_id = self._clock.uuid()

        async def write(connection: Any) -> None:
            await connection.execute(
                "INSERT INTO job (tenant, queue, id, body, due_at)"
                f" VALUES ($1, $2, $3, $4, {UNTIL.format('$5::float8')})",
                *(escape(tenant), escape(queue), job_id, within_limit(body), delay_s),
            )
            await ring(connection, digest(tenant, "queue", queue))

        await self._in_transaction(tenant, write)
        return job_id

    @in_time
    async def claim(self, tenant: str, queue: str, *, lease_s: float, wait_s: float = 0.0) -> Job | None:
        loop = asyncio.get_running_loop()
        until, token = loop.time() + wait_s, self._clock.uuid()
        async with self._bell.listening(digest(tenant, "queue", queue)) as rung:
            while True:
                rung.clear()
                job, next_s = await self._in_transaction(
                    tenant,
                    lambda connection: _claim(connection, escape(tenant), escape(queue), lease_s, token),
                )
                left = until - loop.time()
                if job is not None or left <= 0:
                    return job
                await self._bell.wait(rung, min(left, next_s if next_s is not None else left))

    @in_time
    async def extend(self, tenant: str, queue: str, job: Job, *, lease_s: float) -> bool:
        return await self._due_again(tenant, queue, job, lease_s, keep=True)

    @in_time
    async def release(self, tenant: str, queue: str, job: Job, *, delay_s: float = 0.0) -> bool:
        return await self._due_again(tenant, queue, job, delay_s, keep=False)

    @in_time
    async def ack(self, tenant: str, queue: str, job: Job) -> bool:
        row = await self._row(
            tenant,
            "DELETE FROM job WHERE tenant = $1 AND queue = $2 AND id = $3 AND token = $4"
            " AND due_at > clock_timestamp() RETURNING id",
            *(escape(queue), job.id, job.token),
        )
        return row is not None

    async def _due_again(self, tenant: str, queue: str, job: Job, seconds: float, *, keep: bool) -> bool:
        async def write(connection: Any) -> bool:
            changed = await connection.fetchval(
                f"UPDATE job SET due_at = {UNTIL.format('$5::float8')},"
                " token = CASE WHEN $6 THEN token ELSE '' END"
                " WHERE tenant = $1 AND queue = $2 AND id = $3 AND token = $4 AND due_at > clock_timestamp()"
                " RETURNING true",
                *(escape(tenant), escape(queue), job.id, job.token, seconds, keep),
            )
            if changed and not keep:
                await ring(connection, digest(tenant, "queue", queue))
            return bool(changed)

        return await self._in_transaction(tenant, write)


async def _claim(
    connection: Any, tenant: str, queue: str, lease_s: float, token: str
) -> tuple[Job | None, float | None]:
    """The oldest job that is due, or else in how many seconds there will be one."""
    row = await connection.fetchrow(
        f"UPDATE job SET due_at = {UNTIL.format('$3::float8')}, token = $4, deliveries = deliveries + 1"
        " WHERE number = (SELECT number FROM job WHERE tenant = $1 AND queue = $2"
        " AND due_at <= clock_timestamp() ORDER BY due_at, number FOR UPDATE SKIP LOCKED LIMIT 1)"
        " RETURNING id, body, deliveries",
        *(tenant, queue, lease_s, token),
    )
    if row is not None:
        return Job(row["id"], row["body"], row["deliveries"], token), None
    next_s = await connection.fetchval(
        "SELECT extract(epoch FROM min(due_at) - clock_timestamp())::float8 FROM job"
        " WHERE tenant = $1 AND queue = $2",
        *(tenant, queue),
    )
    return None, None if next_s is None else max(0.01, next_s)
