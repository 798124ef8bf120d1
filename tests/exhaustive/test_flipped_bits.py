"""A bit flipped on the way: Bedrock's checksums find it, and the reader gets the answer nevertheless."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from seamstream.driver import Driver
from seamstream.effects import Broke, Open, Opened, Result
from seamstream.testing.clock import FakeClock
from tests.corpus import STREAMS, CorpusStream
from tests.exhaustive.cut import Cut, services_of, spec_of
from tests.support.grammar import assert_well_formed
from tests.support.provider import Provider
from tests.support.pure_run import SyncRun, run_sync
from tests.support.turns import turn_of

pytestmark = [pytest.mark.exhaustive, pytest.mark.timeout(600)]

FRAMED = [stream for stream in STREAMS if stream.dialect == "bedrock"]
HEAD = {"content-type": "application/vnd.amazon.eventstream"}


def _run(stream: CorpusStream, data: bytes) -> tuple[Driver, SyncRun]:
    clock, provider, cut = FakeClock(), Provider(stream), Cut(0, "reset")

    def transport(effect: Open) -> tuple[Opened, Iterator[bytes | Broke | Result]]:
        body = data if effect.attempt == 1 else provider.reply(effect.body)[1]
        return Opened(200, HEAD, True), iter((body,))

    driver = Driver(spec_of(stream, cut), services_of(clock, cut))
    return driver, run_sync(driver, transport, clock.tick)


@pytest.mark.parametrize("number", range(len(FRAMED)), ids=lambda number: FRAMED[number].name)
def test_every_byte_with_a_flipped_bit(number: int) -> None:
    """One bit in each byte; which one, rotates from byte to byte and from stream to stream."""
    stream = FRAMED[number]
    whole = turn_of("bedrock", stream.data).answer
    causes: Counter[str] = Counter()
    for at in range(len(stream.data)):
        flipped = bytearray(stream.data)
        flipped[at] ^= 1 << (at + number) % 8
        driver, run = _run(stream, bytes(flipped))
        assert run.error is None, (at, run.error)
        assert driver.turn is not None
        got = turn_of("bedrock", run.data).answer
        assert got.text == whole.text or driver.turn.outcome.plan == "R2", at
        assert got.calls == whole.calls[: len(got.calls)]
        assert_well_formed("bedrock", run.data, whole=True)
        causes.update(driver.turn.outcome.causes)
    # A length that was made larger looks like an end that never came; everything else is found at once.
    assert set(causes) <= {"MalformedFrame", "EarlyEof"}
    assert causes["MalformedFrame"] > 20 * causes["EarlyEof"]
