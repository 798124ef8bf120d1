"""What a checkpointed answer costs: bytes given to the store over the answer's, and the time of a write."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

import pytest

from seamstream import BackendCheckpointStore, RecoveryPolicy, StreamCheckpoint, open_store
from seamstream.clock import SystemClock
from seamstream.driver.parts import Steps
from seamstream.effects import DONE, Opened, Read
from seamstream.saver import CheckpointSaver
from seamstream.stores import Backend, CheckpointDelta
from seamstream.testing import Answer, DeterministicModel, Reasoning, Text, Tool
from tests.driver.playing import QUESTION, Stage

MOST: Final = 2.0
PIECE: Final = 'The "reef" grows,\n'
"""What a delta brings, with characters that JSON escapes."""
EVENTS_OF_A_PUT: Final = 50
"""A checkpoint a second at 50 events a second."""
PUTS_AT_LEAST: Final = 1_000
PATIENCE_S: Final = 60.0


PIECES: Final = 60_000
ANSWER: Final = Answer(
    (
        Reasoning((PIECE,) * (PIECES // 3)),
        Text((PIECE,) * (PIECES // 2)),
        Tool("write", ('{"page": "', *(json.dumps(PIECE)[1:-1],) * (PIECES // 6), '"}')),
    )
)


class Counted:
    """Any backend, with the bytes that it was given counted."""

    def __init__(self, backend: Any) -> None:
        self.backend, self.payload_bytes = backend, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.backend, name)

    async def put(self, tenant: str, key: Any, value: bytes, **options: Any) -> int:
        self.payload_bytes += len(value)
        put: int = await self.backend.put(tenant, key, value, **options)
        return put

    async def compare_and_set(self, tenant: str, key: Any, value: bytes, **options: Any) -> int | None:
        self.payload_bytes += len(value)
        revision: int | None = await self.backend.compare_and_set(tenant, key, value, **options)
        return revision

    async def append(self, tenant: str, log: Any, values: Sequence[bytes], **options: Any) -> int | None:
        self.payload_bytes += sum(map(len, values))
        seq: int | None = await self.backend.append(tenant, log, values, **options)
        return seq


class Timed(BackendCheckpointStore):
    """With the time that each write took, in seconds."""

    times_s: list[float]

    async def append(self, key: str, epoch: int, offset: int, delta: CheckpointDelta) -> None:
        clock = SystemClock()
        begun = clock.monotonic()
        await super().append(key, epoch, offset, delta)
        self.times_s.append(clock.monotonic() - begun)

    async def claim(self, checkpoint: StreamCheckpoint) -> StreamCheckpoint:
        self.times_s = []
        return await super().claim(checkpoint)


def streaming(stage: Stage) -> tuple[Steps, list[bytes]]:
    """A run that has just been answered, and the events that come."""
    steps = stage.driver.steps()
    next(steps)
    effect = steps.send(Opened(200, {}, True))
    while not isinstance(effect, Read):
        effect = steps.send(DONE)
    asked = {**QUESTION, "max_tokens": 10_000_000}
    return steps, stage.model.reply("anthropic", asked).events


async def measured(backend: Backend) -> tuple[float, int, list[float]]:
    """Payload over content, the content's bytes, and how long each write took in seconds."""
    counted = Counted(backend)
    store = Timed(counted, SystemClock().uuid())
    stage = Stage("anthropic", model=DeterministicModel(ANSWER), reader="typed", checkpoint_key="r")
    policy = RecoveryPolicy(on_store_error="fail", store_s=PATIENCE_S)
    saver = CheckpointSaver(store, "r", policy, SystemClock())
    steps, events = streaming(stage)
    for number, event in enumerate(events, 1):
        stage.driver.intake.receive(event)
        if number % EVENTS_OF_A_PUT == 0:
            saver.put_soon(stage.driver)
            await saver.flush()
    turn = stage.driver.turn_so_far()
    steps.close()
    content = [turn.text, turn.reasoning, *(call.arguments for call in turn.tool_calls)]
    content_bytes = sum(len(text.encode()) for text in content)
    stored = await store.get("r")
    assert stored is not None
    assert stored.snapshot.text == turn.text
    return counted.payload_bytes / content_bytes, content_bytes, store.times_s


async def test_a_megabyte_costs_at_most_twice_its_bytes(
    any_store_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    async with open_store(any_store_url) as backend:
        ratio, content_bytes, taken_s = await measured(backend)
    times_s = sorted(taken_s)
    p99_s = times_s[len(times_s) * 99 // 100]
    with capsys.disabled():
        kind = any_store_url.partition(":")[0]
        print(f"\n{kind}: {len(times_s)} writes, payload {ratio:.2f} of {content_bytes} bytes, ", end="")
        print(f"put median {times_s[len(times_s) // 2] * 1e3:.2f} ms, p99 {p99_s * 1e3:.2f} ms")
    assert content_bytes > 1_000_000
    assert len(times_s) >= PUTS_AT_LEAST
    assert ratio <= MOST
