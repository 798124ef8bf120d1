"""`make kill-test`: hundreds of workers killed and frozen on every store, and what became of them as a table.

Each run asserts what `killing.check` states; a run that breaks it ends the whole with its error, so a written
table means that all of them held.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import logging
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from seamstream.stores.postgres_migrations import migrate
from tests.house.imports import ROOT
from tests.stores.servers import NatsServer, PostgresServer, RedisServer, Server
from tests.tasks.killing import Kill, Trial, play, play_all

RESULT = ROOT / "docs" / "kill_test.md"
STORES = ("sqlite", "postgresql", "redis", "nats")
HEADER = (
    *("store", "kills", "freezes", "store restarts", "right answers", "effects twice"),
    *("unknown outcomes", "cleared by query", "undone", "most recoveries used", "seconds"),
)


@dataclass
class Row:
    """What became of one store's runs."""

    store: str
    trials: list[Trial] = field(default_factory=list)
    restarts: int = 0
    seconds: float = 0.0

    def cells(self) -> tuple[str, ...]:
        killed = [trial for trial in self.trials if trial.killed]
        frozen = sum(trial.kill.freezes for trial in killed)
        unknown = sum(trial.count("tool_unknown") for trial in self.trials)
        resolutions = [entry.details.get("resolution") for trial in self.trials for entry in trial.entries]
        return (
            self.store,
            str(len(killed) - frozen),
            str(frozen),
            str(self.restarts),
            f"{sum(trial.right for trial in self.trials)} of {len(self.trials)}",
            str(sum(len(trial.service.repeated) for trial in self.trials)),
            str(unknown),
            str(resolutions.count("query")),
            str(resolutions.count("compensate")),
            str(max(trial.count("recovery_started") for trial in self.trials)),
            f"{self.seconds:.0f}",
        )


@contextlib.contextmanager
def served(store: str) -> Iterator[tuple[str, Server | None]]:
    """The store's address, and its server if it has one."""
    if store == "sqlite":
        with tempfile.TemporaryDirectory() as folder:
            yield f"sqlite:///{folder}/store.db", None
        return
    server: Server = {"postgresql": PostgresServer, "redis": RedisServer, "nats": NatsServer}[store]()
    try:
        server.start()
        if isinstance(server, PostgresServer):
            asyncio.run(migrate(server.owner_url, role="seamstream_app"))
        yield server.url, server
    finally:
        server.close()


async def run(store: str, url: str, server: Server | None, *, kills: int, freezes: int, restarts: int) -> Row:
    """All runs of one store."""
    row, began = Row(store), time.monotonic()
    row.trials += await play_all(url, [Kill.seeded(seed) for seed in range(kills)])
    row.trials += await play_all(url, [Kill.seeded(seed, freezes=True) for seed in range(freezes)])
    for seed in range(restarts if server is not None else 0):
        row.trials.append(await play(url, Kill.seeded(3 * seed), disturb=server.restart))
        row.restarts += 1
    row.seconds = time.monotonic() - began
    return row


def written(rows: list[Row]) -> str:
    """The page."""
    lines = [HEADER, ("---",) * len(HEADER), *(row.cells() for row in rows)]
    table = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
    return f"""# Workers that are killed

Written by `make kill-test`.

A task of three steps calls a service that books twice, over HTTP; the service counts its calls, books a key
once at most, and can be asked for a key. Its worker is ended by SIGKILL (or frozen by SIGSTOP until its lease
is over, and thawed when another one has finished) at seeded moments: before and after each of its writes to
the store, and while the service has its request. Some runs also kill the store's server, which comes back
with what was on disk.

In every run: the answer is right, the service's own log agrees with every recorded outcome, no booking was
sent twice, an outcome is unknown only where a worker ended between start and outcome, the ledger's chain is
whole, nothing that the store had acknowledged is missing, no late write of a frozen worker came through.

{table}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help=f"write {RESULT.relative_to(ROOT)}")
    parser.add_argument("--small", action="store_true", help="a tenth of it")
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)  # drivers tell at length that a killed server is away
    share = 10 if options.small else 1
    rows = []
    for store in STORES:
        kills = (300 if store == "sqlite" else 100) // share
        with served(store) as (url, server):
            rows.append(
                asyncio.run(run(store, url, server, kills=kills, freezes=20 // share, restarts=20 // share))
            )
        print(*rows[-1].cells(), sep=" | ", flush=True)
    if options.write:
        Path(RESULT).write_text(written(rows), "utf-8")


if __name__ == "__main__":
    main()
