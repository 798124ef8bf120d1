"""When a follower of a log waits and when it ends: one rule for all backends.

A name may hold one log after the other. Each has an incarnation, and a backend reads it in one step with the
entries, so that a follower never takes one log's entries for another's.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass, field

from .backend import LogEntry


@dataclass(frozen=True, slots=True)
class Page:
    """Some entries of a log as it stood at one moment; without a log there is no incarnation."""

    incarnation: int | bytes | str | None = None
    last: int = 0
    entries: list[LogEntry] = field(default_factory=list)


async def follow_pages(
    look: Callable[[int], Awaitable[Page]], wait: Callable[[], Awaitable[None]], after: int
) -> AsyncGenerator[LogEntry, None]:
    """The entries after that number of the first log that `look` finds, until it is gone.

    `wait` returns when the log may have changed since `look` began.
    """
    known: int | bytes | str | None = None
    while True:
        page = await look(after)
        if page.last < after or known not in (None, page.incarnation):
            return
        known = page.incarnation
        for entry in page.entries:
            after = entry.seq
            yield entry
        if not page.entries:
            await wait()
