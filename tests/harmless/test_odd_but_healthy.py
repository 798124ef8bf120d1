"""Over a hundred healthy streams with odd timing, on a fake clock: none is recovered, none is changed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.corpus import by_name
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


@pytest.mark.parametrize("name", ["chat_text_plain", "chat_tool_parallel", "chat_usage_chunks"])
def test_an_end_without_done_is_no_cut(name: str) -> None:
    """Some servers never send `[DONE]`; the finish reason was the proof. The missing marker may be added."""
    stream = by_name(name)
    data = stream.data.removesuffix(b"data: [DONE]\n\n")
    ran = run_healthy(replace(stream, data=data), lambda body: iter([(0.1, body)]))
    turn = ran.driver.turn
    assert turn is not None
    assert (turn.outcome.kind, turn.outcome.causes) == ("complete", ())
    assert spoken(ran.run.data) in (spoken(data), spoken(stream.data))
