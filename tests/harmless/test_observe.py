"""Observe mode on real sockets: readers of every recording under every fault get what stock aiohttp gives."""

from __future__ import annotations

import asyncio
import gc
from dataclasses import dataclass
from typing import Any

import aiohttp
import pytest

import seamstream
from seamstream import ProfileBook, RecoveryMiddleware, RecoveryPolicy
from seamstream.testing import Ending, Fault, FaultServer
from tests.corpus import STREAMS, CorpusStream
from tests.middleware.asking import until
from tests.support.provider import Responder
from tests.support.recordings import recordings, require_recordings
from tests.support.wire import boundaries

PATIENCE_S = 60.0
NEVER_ENDING = (Ending.STALL, Ending.STALL_WITH_PINGS, Ending.BAD_CHUNK_SIZE)
OURS = "x-seamstream-run-id"
VOLATILE = {OURS, "date"}


def _faults(stream: CorpusStream) -> dict[str, Fault]:
    ends = boundaries(stream.data)
    cut, torn = ends[len(ends) * 2 // 3], len(stream.data) * 2 // 3
    return {
        "none": Fault.none(),
        "reset": Fault.reset(after_bytes=cut),
        "fin": Fault.fin(after_bytes=torn),
        "fin inside a chunk": Fault.fin(after_bytes=torn, torn_chunk=True),
        "clean end": Fault.clean_end(after_bytes=torn),
        "short length": Fault.short_length(after_bytes=torn),
        "short length, reset": Fault.short_length(Ending.RESET, after_bytes=torn),
        "close-delimited": Fault.close_delimited(after_bytes=torn),
        "bad chunk size": Fault.bad_chunk_size(after_bytes=torn),
        "stall": Fault.stall(after_bytes=torn),
        "stall with pings": Fault.stall_with_pings(every_s=0.001, after_bytes=cut),
        "overloaded": Fault.in_band_error(529, after_bytes=cut),
        "server error": Fault.in_band_error(500, after_bytes=cut),
        "rate limit": Fault.in_band_error(429, after_bytes=cut),
        "error then done": Fault.error_then_done(after_bytes=cut),
        "html": Fault.html(),
        "json body": Fault.json_body(),
        "429": Fault.http_error(429, {"retry-after": "1"}),
        "503": Fault.http_error(503),
        "529": Fault.http_error(529),
        "no response": Fault.no_response(),
    }


@dataclass(frozen=True)
class Seen:
    """What one reader got: status, headers, body, and the exception's class."""

    status: int | None
    headers: Any
    data: bytes
    error: type[BaseException] | None


async def _read(session: aiohttp.ClientSession, url: str, stream: CorpusStream, fault: Fault) -> Seen:
    """Everything until the end; of what never ends, as many bytes as are sent before the silence."""
    status, headers, data = None, None, b""
    try:
        async with session.post(url, json=stream.request) as response:
            status = response.status
            headers = {key: value for key, value in response.headers.items() if key.lower() not in VOLATILE}
            if fault.ending in NEVER_ENDING:
                return Seen(status, headers, await response.content.readexactly(fault.after_bytes or 0), None)
            async for chunk in response.content.iter_any():
                data += chunk
    except aiohttp.ClientError as error:
        return Seen(status, headers, data, type(error))
    return Seen(status, headers, data, None)


async def _observed_like_stock(stream: CorpusStream) -> None:
    complaints: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
    faults = _faults(stream)
    script = [fault for fault in faults.values() for _ in range(2)]
    observing = RecoveryMiddleware(RecoveryPolicy(mode="observe"), profiles=ProfileBook())
    async with (
        asyncio.timeout(PATIENCE_S),
        FaultServer(Responder(stream), script) as server,
        aiohttp.ClientSession() as stock,
        aiohttp.ClientSession(middlewares=[observing]) as observed,
    ):
        url = server.url_for(stream.dialect)
        for name, fault in faults.items():
            expected = await _read(stock, url, stream, fault)
            with seamstream.capture() as runs:
                got = await _read(observed, url, stream, fault)
            _compare(name, stream, fault, expected, got)
            await until(lambda runs=runs: runs)  # what broke is told a turn of the loop later
            assert [run.attempts for run in runs] == [1], name
        assert len(server.requests) == len(script)
    gc.collect()
    assert not complaints


def _compare(name: str, stream: CorpusStream, fault: Fault, expected: Seen, got: Seen) -> None:
    assert (got.status, got.error) == (expected.status, expected.error), name
    assert _without_lengths(got.headers) == _without_lengths(expected.headers), name
    if fault.ending is Ending.RESET:
        # How much of what was sent survives a reset is the kernel's affair.
        shorter, longer = sorted((got.data, expected.data), key=len)
        assert longer.startswith(shorter), name
        assert stream.data.startswith(longer), name
    else:
        assert got.data == expected.data, name


def _without_lengths(headers: Any) -> Any:
    """Request ids are numbers of requests here."""
    return headers and {
        key: value for key, value in headers.items() if not key.lower().endswith("request-id")
    }


@pytest.mark.parametrize("stream", recordings(), ids=str)
async def test_every_recording_under_every_fault(stream: CorpusStream) -> None:
    await _observed_like_stock(stream)


@pytest.mark.parametrize("stream", STREAMS[::4], ids=str)
async def test_streams_of_the_corpus_under_every_fault(stream: CorpusStream) -> None:
    await _observed_like_stock(stream)


def test_the_recordings_are_there() -> None:
    require_recordings()
    ours = {"openai-chat", "openai-responses", "anthropic", "gemini", "gemini-interactions"}
    assert {stream.dialect for stream in recordings()} >= ours
