"""More than 200 of the cuts on real sockets: a server that really breaks, and the aiohttp middleware."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass

import aiohttp
import pytest

import seamstream
from seamstream import Outcome, Profile, ProfileBook, RecoveryMiddleware, StreamCutError
from seamstream.testing import Ending, Fault, FaultServer
from tests.corpus import STREAMS, CorpusStream
from tests.exhaustive.cut import PROFILES
from tests.exhaustive.judge import TOOL_STOP
from tests.support.cut_state import state_of
from tests.support.provider import Responder
from tests.support.turns import Answer, turn_of
from tests.support.wire import boundaries

PATIENCE_S = 60.0
CUTS_A_STREAM = 4
AT_LEAST = 200


@dataclass(frozen=True)
class SocketCut:
    """Of a reset the kernel may swallow some of the last bytes: then `offset` is the most that arrives."""

    stream: CorpusStream
    offset: int
    fault: Fault
    strategy: str

    def __str__(self) -> str:
        return f"{self.stream.name}-{self.offset}-{self.fault.ending.value}-{self.strategy}"


def _cuts() -> Iterator[SocketCut]:
    """Spread over every stream, with the ways of breaking in turn."""
    for number, stream in enumerate(STREAMS):
        for turn in range(CUTS_A_STREAM):
            place = number * CUTS_A_STREAM + turn
            offset = place * 7919 % len(stream.data)
            yield SocketCut(stream, *_fault(stream, offset, place), ("prefill", "prompt")[place // 7 % 2])


def _fault(stream: CorpusStream, offset: int, turn: int) -> tuple[int, Fault]:
    where = {"after_bytes": offset}
    boundary = max([0, *(end for end in boundaries(stream.data) if end <= offset)])
    return (
        (offset, Fault.reset(**where)),
        (offset, Fault.fin(**where)),
        (offset, Fault.clean_end(**where)),
        (offset, Fault.short_length(**where)),
        (offset, Fault.close_delimited(**where)),
        (offset, Fault.bad_chunk_size(**where)),
        (boundary, Fault.in_band_error(529, after_bytes=boundary)),
    )[turn % 7]


CUTS = list(_cuts())


@dataclass(frozen=True)
class Got:
    data: bytes
    error: Exception | None
    outcome: Outcome
    requests: int


async def _play(cut: SocketCut) -> Got:
    middleware = RecoveryMiddleware(profiles=ProfileBook([Profile(PROFILES[cut.strategy])]))
    data, error = b"", None
    async with (
        asyncio.timeout(PATIENCE_S),
        FaultServer(Responder(cut.stream), [cut.fault]) as server,
        aiohttp.ClientSession(middlewares=[middleware]) as session,
    ):
        with seamstream.capture() as runs:
            async with session.post(server.url_for(cut.stream.dialect), json=cut.stream.request) as response:
                try:
                    async for chunk in response.content.iter_any():
                        data += chunk
                except aiohttp.ClientPayloadError as raised:
                    error = raised
        return Got(data, error, runs[0], len(server.requests))


def _salvaged(cut: SocketCut) -> set[Answer]:
    """What plan R2 may make of the bytes: what was complete at the cut, or of a reset at an earlier event."""
    stream, ends = cut.stream, [cut.offset]
    if cut.fault.ending is Ending.RESET:
        ends += [end for end in boundaries(stream.data) if end < cut.offset]
    states = [state_of(stream.dialect, stream.data[:end]) for end in ends]
    stop = TOOL_STOP.get(stream.dialect, "tool_use")
    return {Answer(state.text, "", state.complete_calls, stop) for state in states if state.complete_calls}


@pytest.mark.parametrize("cut", CUTS, ids=str)
async def test_a_cut_on_a_real_socket(cut: SocketCut) -> None:
    got = await _play(cut)
    reading, whole = turn_of(cut.stream.dialect, got.data), turn_of(cut.stream.dialect, cut.stream.data)
    if got.error is not None or reading.error is not None:
        assert cut.stream.unrecoverable is not None
        assert got.outcome.kind == "truncated"
        assert any(answer.stop is None for answer in reading.answers)
        assert got.error is None or isinstance(got.error, StreamCutError)
    elif got.outcome.plan == "R2":
        assert got.requests == 1
        assert reading.answer in _salvaged(cut)
    else:
        assert reading.answers == whole.answers
        assert len(reading.ids) == 1
        assert got.requests == (1 if got.outcome.plan in (None, "R0") else 2)


def test_there_are_enough() -> None:
    assert len({str(cut) for cut in CUTS}) == len(CUTS) >= AT_LEAST
