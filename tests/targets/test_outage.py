"""A correlated outage in small: the targets that still serve stay within a tenth of their normal load, and
all answers arrive.
"""

from __future__ import annotations

import pytest
from bench.outage import LIMIT, Size, compare


@pytest.mark.timeout(120)
async def test_recovery_does_not_make_an_outage_worse() -> None:
    size = Size(streams=120, resets=36)
    bounded, unbounded = await compare(size)
    assert bounded.whole == unbounded.whole == size.streams
    assert bounded.load <= LIMIT
    assert unbounded.load > LIMIT, "the same outage does harm where nothing holds recoveries back"
