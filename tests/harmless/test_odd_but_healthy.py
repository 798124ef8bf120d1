"""Over a hundred healthy streams with odd timing, on a fake clock: none is recovered, none is changed."""

from __future__ import annotations

import pytest

from tests.harmless.odd_pacing import OddStream, odd_streams
from tests.support.single_run import run_healthy
from tests.support.wire import spoken

ODD = odd_streams()


def test_there_are_enough() -> None:
    assert len({odd.name for odd in ODD}) == len(ODD) >= 100


@pytest.mark.parametrize("odd", ODD, ids=str)
def test_an_odd_stream_is_left_alone(odd: OddStream) -> None:
    ran = run_healthy(odd.stream, odd.script)
    turn = ran.driver.turn
    assert turn is not None
    assert ran.run.error is None
    assert ran.run.finished
    assert len(ran.run.requests) == 1
    assert (turn.outcome.kind, turn.outcome.causes, turn.outcome.degraded) == ("complete", (), None)
    assert spoken(ran.run.data) == spoken(odd.stream.data)
    assert ran.took_s >= odd.at_least_s
