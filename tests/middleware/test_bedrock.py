"""Bedrock with a bearer key is plain HTTP: the middleware makes ConverseStream whole like any stream."""

from __future__ import annotations

import pytest

from seamstream.testing import Fault, differences
from tests.middleware.asking import Asker
from tests.middleware.test_healing import AT_ONCE

QUESTION = {"messages": [{"role": "user", "content": [{"text": "What is a reef?"}]}]}
FAULTS = {
    "reset": (Fault.reset(after_events=12), "ConnectionReset"),
    "inside a frame": (Fault.reset(after_bytes=1_801), "ConnectionReset"),
    "clean end": (Fault.clean_end(after_events=12), "EarlyEof"),
    "bad chunk size": (Fault.bad_chunk_size(after_events=12), "MalformedFrame"),
    "exception": (Fault.in_band_error(500, after_events=12), "Provider5xxMidStream(500)"),
}


@pytest.mark.parametrize("name", FAULTS)
async def test_a_broken_stream_comes_out_whole(asker: Asker, name: str) -> None:
    fault, cause = FAULTS[name]
    async with asker.scene(dialect="bedrock", stock=True) as scene:
        expected = await scene.turn(json=QUESTION)
    async with asker.scene([fault], dialect="bedrock", policy=AT_ONCE) as scene:
        got = await scene.turn(json=QUESTION, headers={"Authorization": "Bearer k"})
    assert differences(expected, got) == []
    assert [exchange.headers.get("authorization") for exchange in scene.requests] == ["Bearer k"] * 2
    (outcome,) = scene.runs
    assert (outcome.kind, outcome.attempts, outcome.causes) == ("recovered", 2, (cause,))
