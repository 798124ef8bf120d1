"""What the saver does when its store fails at the wrong moment."""

from __future__ import annotations

import asyncio
from typing import Any

from seamstream.recovery.policy import RecoveryPolicy
from seamstream.saver import CheckpointSaver
from seamstream.testing import FakeClock


class FailingPut:
    """A store whose writes fail while somebody waits for them; deletions work."""

    def __init__(self) -> None:
        self.putting, self.deleted = asyncio.Event(), list[str]()
        self.may_fail = asyncio.Event()

    async def put(self, checkpoint: Any) -> None:
        self.putting.set()
        await self.may_fail.wait()
        raise OSError("the store went away")

    async def get(self, key: str) -> None:
        return None

    async def delete(self, key: str) -> None:
        self.deleted.append(key)


class Notices:
    """As much of a driver as the saver sees."""

    def __init__(self) -> None:
        self.history, self.said = self, list[str]()

    def checkpoint(self) -> object:
        return object()

    def notice(self, kind: str, detail: str) -> None:
        self.said.append(kind)


async def test_a_run_that_is_committed_while_a_write_fails_is_deleted_nevertheless() -> None:
    store, driver = FailingPut(), Notices()
    saver = CheckpointSaver(store, "run-1", RecoveryPolicy(), FakeClock())
    saver.put_soon(driver)  # type: ignore[arg-type]
    await store.putting.wait()
    saver.forget_soon()
    store.may_fail.set()
    await saver.flush()
    assert store.deleted == ["run-1"]
    assert driver.said == ["store_down"]
