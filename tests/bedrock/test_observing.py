"""Who only looks on at a Bedrock client sees the same causes as who recovers."""

from __future__ import annotations

from typing import get_args

import pytest

import seamstream
from seamstream.testing import Ending, Fault, FaultServer
from tests.bedrock.clients import AT_ONCE, Kind, read
from tests.bedrock.test_clients import MODEL

FAULTS = {
    "reset": Fault.reset(after_events=9),
    "torn chunk": Fault(Ending.FIN, after_events=9, torn_chunk=True),
    "bad chunk size": Fault(Ending.BAD_CHUNK_SIZE, after_events=9),
    "short body": Fault(Ending.FIN, after_events=9, framing="content-length"),
    "clean end": Fault(Ending.CLEAN_END, after_events=9),
    "silence": Fault.stall(after_events=9),
    "exception": Fault.in_band_error(503, after_events=9),
}


HANGS_IN_STOCK = ("aiobotocore", "bad chunk size")
"""aiohttp itself leaves its reader waiting there, and who looks on changes nothing."""
CASES = [(kind, fault) for kind in get_args(Kind) for fault in FAULTS if (kind, fault) != HANGS_IN_STOCK]


@pytest.mark.parametrize(("kind", "fault"), CASES)
async def test_the_causes_are_those_of_recovery(kind: Kind, fault: str) -> None:
    causes = {}
    for mode in ("recover", "observe"):
        policy = AT_ONCE.replace(mode=mode, idle_s=0.3)
        async with FaultServer(MODEL, [FAULTS[fault]]) as server:
            with seamstream.capture() as outcomes:
                await read(kind, server.url, policy=policy, read_timeout=0.5)
        [outcome] = outcomes
        causes[mode] = outcome.causes[:1]
    assert causes["observe"] == causes["recover"] != ()
