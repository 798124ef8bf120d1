"""Workers killed and frozen at seeded moments, on every store that processes can share."""

from __future__ import annotations

import pytest

from tests.stores.servers import Server
from tests.tasks.killing import Kill, play, play_all


@pytest.mark.timeout(300)
async def test_killed_workers(store_url: str) -> None:
    runs = 40 if store_url.startswith("sqlite") else 15
    trials = await play_all(store_url, [Kill.seeded(seed) for seed in range(runs)])
    killed = sum(trial.killed for trial in trials)
    unknown = sum(trial.count("tool_unknown") for trial in trials)
    print(f"\n{store_url.partition(':')[0]}: {runs} runs, {killed} killed, {unknown} outcomes unknown")
    assert killed >= runs * 0.8
    assert unknown > 0


@pytest.mark.timeout(300)
async def test_late_writes_of_a_frozen_worker_are_refused(store_url: str) -> None:
    trials = await play_all(store_url, [Kill.seeded(seed, freezes=True) for seed in range(0, 25, 5)])
    assert sum(trial.killed for trial in trials) >= 4


@pytest.mark.timeout(300)
async def test_the_store_is_killed_too(store_server: Server) -> None:
    for seed in (9, 20, 31):
        await play(store_server.url, Kill.seeded(seed), disturb=store_server.restart)
