"""A reader that leaves behind the proof has the whole answer; one that leaves before it has not."""

from __future__ import annotations

from typing import Literal

import pytest

from seamstream import RecoveryPolicy
from seamstream.testing import Dialect, Fault
from tests.middleware.asking import QUESTION, Asker

PROOFS: dict[Dialect, bytes] = {
    "openai-chat": b'"finish_reason":"stop"',
    "anthropic": b'"stop_reason":"end_turn"',
}


@pytest.mark.parametrize("mode", ["recover", "observe"])
@pytest.mark.parametrize("dialect", list(PROOFS))
async def test_leaving_at_the_proof(
    asker: Asker, dialect: Dialect, mode: Literal["recover", "observe"]
) -> None:
    """The provider never comes to its last event, so that nothing but the proof can have been seen."""
    before_the_last = Fault.stall(after_events=len(asker.model.reply(dialect, QUESTION).events) - 1)
    policy = RecoveryPolicy(mode=mode)
    async with asker.scene([before_the_last], policy=policy, dialect=dialect) as scene:
        async with scene.post() as response:
            got = b""
            while PROOFS[dialect] not in got:
                got += await response.content.readany()
        assert [run.kind for run in scene.runs] == ["complete"]
        assert len(scene.server.requests) == 1


@pytest.mark.parametrize("mode", ["recover", "observe"])
async def test_leaving_before_the_proof(asker: Asker, mode: Literal["recover", "observe"]) -> None:
    async with asker.scene([Fault.stall(after_events=8)], policy=RecoveryPolicy(mode=mode)) as scene:
        async with scene.post() as response:
            await response.content.readany()
        assert [run.kind for run in scene.runs] == ["cancelled"]
