"""Work in SQLite: a row each, due when its lease or its delay is over."""

from __future__ import annotations

import sqlite3
from typing import Final

from .backend import Job
from .sqlite_file import POLL_S, SqliteFile

_CLAIM: Final = """
UPDATE job SET due_at = ?, token = ?, deliveries = deliveries + 1
WHERE number = (SELECT number FROM job WHERE tenant = ? AND queue = ? AND due_at <= ?
                ORDER BY due_at, number LIMIT 1)
RETURNING id, body, deliveries, token
"""


class SqliteWork(SqliteFile):
    """The queues of a `SqliteBackend`."""

    async def enqueue(self, tenant: str, queue: str, body: bytes, *, delay_s: float = 0.0) -> str:
        job_id, due_at = self._clock.uuid(), self._clock.wall() + delay_s
        await self._write(
            lambda connection: connection.execute(
                "INSERT INTO job (id, tenant, queue, body, due_at) VALUES (?, ?, ?, ?, ?)",
                (job_id, tenant, queue, body, due_at),
            )
        )
        return job_id

    async def claim(self, tenant: str, queue: str, *, lease_s: float, wait_s: float = 0.0) -> Job | None:
        until = self._clock.monotonic() + wait_s
        while True:
            self._written.clear()
            job = await self._write(lambda connection: self._claim(connection, tenant, queue, lease_s))
            left = until - self._clock.monotonic()
            if job is not None or left <= 0:
                return job
            await self._until_written(min(left, POLL_S))

    async def extend(self, tenant: str, queue: str, job: Job, *, lease_s: float) -> bool:
        return await self._change_claim("due_at = ?", tenant, queue, job, (self._clock.wall() + lease_s,))

    async def release(self, tenant: str, queue: str, job: Job, *, delay_s: float = 0.0) -> bool:
        due_at = self._clock.wall() + delay_s
        return await self._change_claim("due_at = ?, token = ''", tenant, queue, job, (due_at,))

    async def ack(self, tenant: str, queue: str, job: Job) -> bool:
        def write(connection: sqlite3.Connection) -> bool:
            done = connection.execute(
                "DELETE FROM job WHERE tenant = ? AND queue = ? AND token = ? AND due_at > ?",
                (tenant, queue, job.token, self._clock.wall()),
            )
            return done.rowcount == 1

        return await self._write(write)

    def _claim(self, connection: sqlite3.Connection, tenant: str, queue: str, lease_s: float) -> Job | None:
        now = self._clock.wall()
        row = connection.execute(_CLAIM, (now + lease_s, self._clock.uuid(), tenant, queue, now)).fetchone()
        return Job(*row) if row else None

    async def _change_claim(
        self, change: str, tenant: str, queue: str, job: Job, values: tuple[float, ...]
    ) -> bool:
        """Change the job of a claim that is still good."""

        def write(connection: sqlite3.Connection) -> bool:
            changed = connection.execute(
                f"UPDATE job SET {change} WHERE tenant = ? AND queue = ? AND token = ? AND due_at > ?",
                (*values, tenant, queue, job.token, self._clock.wall()),
            )
            return changed.rowcount == 1

        return await self._write(write)
