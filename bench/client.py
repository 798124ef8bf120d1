"""The program under measurement: an aiohttp client that runs a case with and without seamstream in turn.

Called as `python -m bench.client CASE PORT ARGUMENTS`; prints its readings as JSON. It is a process of its
own, so that its CPU time and memory are the client's alone.
"""

from __future__ import annotations

import asyncio
import gc
import json
import resource
import sys
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import aiohttp
import openai
import uvloop
from aiohttp.client_proto import ResponseHandler

import seamstream

ALTERNATIONS = 15
CUT_GAP_S = 0.06
"""Many cuts within a second look like an outage, and first reconnects are spread over seconds then."""

SIDES = ("bare", "seamstream")
Readings = dict[str, Any]


def new_http(side: str, *traces: aiohttp.TraceConfig) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        middlewares=(seamstream.RecoveryMiddleware(),) if side == "seamstream" else (),
        connector=aiohttp.TCPConnector(limit=0),
        timeout=aiohttp.ClientTimeout(None),
        trace_configs=traces,
    )


def request(model: str) -> dict[str, Any]:
    return {"model": model, "stream": True, "messages": [{"role": "user", "content": "go"}]}


def url(port: str) -> str:
    return f"http://127.0.0.1:{port}/v1/chat/completions"


async def read_all(http: aiohttp.ClientSession, port: str, model: str) -> tuple[int, int]:
    """Bytes and reads of one answer."""
    total = reads = 0
    async with http.post(url(port), json=request(model)) as response:
        async for data in response.content.iter_any():
            total += len(data)
            reads += 1
    return total, reads


async def cpu(port: str, events: str, per_write: str, gap_us: str) -> Readings:
    """CPU microseconds an event of a long answer, sides in turn."""
    readings: Readings = {side: [] for side in SIDES}
    sizes, read_counts = set(), []
    for side in SIDES * (ALTERNATIONS + 1):
        async with new_http(side) as http:
            gc.collect()
            begun_s = time.process_time()
            size, reads = await read_all(http, port, f"burst {events} {per_write} {gap_us}")
            readings[side].append((time.process_time() - begun_s) / int(events) * 1e6)
        sizes.add(size)
        read_counts.append(reads)
    if len(sizes) != 1:
        raise RuntimeError(f"the sides got different answers: {sizes} bytes")
    warm = {side: readings[side][1:] for side in SIDES}
    return warm | {"events_per_read": int(events) / (sum(read_counts) / len(read_counts))}


async def first_token(port: str, requests: str) -> Readings:
    """Milliseconds from the call to the first content, on a kept connection, sides in turn."""
    readings: Readings = {side: [] for side in SIDES}
    https = {side: new_http(side) for side in SIDES}
    for _ in range(int(requests)):
        for side, http in https.items():
            begun_s = time.perf_counter()
            async with http.post(url(port), json=request("at_once")) as response:
                while b'"yes"' not in await response.content.readany():
                    pass
                readings[side].append((time.perf_counter() - begun_s) * 1e3)
                await response.read()
    for http in https.values():
        await http.close()
    return readings


async def memory(port: str, side: str, streams: str) -> Readings:
    """Resident KiB of a process that holds many open streams, each past its first content."""
    opening = asyncio.Semaphore(100)

    async def open_one() -> aiohttp.ClientResponse:
        async with opening:
            response = await http.post(url(port), json=request("open_ended"))
            while b'"yes"' not in await response.content.readany():
                pass
        return response

    async with new_http(side) as http:
        responses = await asyncio.gather(*(open_one() for _ in range(int(streams))))
        gc.collect()
        resident_kib = resident_bytes() / 1024
        alive = sum(not response.content.at_eof() for response in responses)
        for response in responses:
            response.close()
    return {"resident_kib": resident_kib, "alive": alive}


def resident_bytes() -> int:
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * resource.getpagesize()


async def typed(port: str, streams: str, seconds: str) -> Readings:
    """CPU microseconds an event of many paced streams, for each way to read them."""
    model = f"paced {50 * int(seconds)} 50"
    base_url = f"http://127.0.0.1:{port}/v1"
    over_aiohttp = openai.DefaultAioHttpClient()
    readings = {}
    async with (
        new_http("bare") as http,
        openai.AsyncOpenAI(api_key="none", base_url=base_url) as sdk,
        openai.AsyncOpenAI(api_key="none", base_url=base_url, http_client=over_aiohttp) as sdk_over_aiohttp,
    ):
        for side, read in {
            "seamstream": partial(read_events, http, port, model),
            "AsyncOpenAI": partial(read_chunks, sdk, model),
            "AsyncOpenAI over aiohttp": partial(read_chunks, sdk_over_aiohttp, model),
            "plain aiohttp, bytes only": partial(read_all, http, port, model),
        }.items():
            begun_s = time.process_time()
            await asyncio.gather(*(read() for _ in range(int(streams))))
            events = int(streams) * 50 * int(seconds)
            readings[side] = (time.process_time() - begun_s) / events * 1e6
    return readings


async def read_events(http: aiohttp.ClientSession, port: str, model: str) -> None:
    async with seamstream.stream(http, url(port), json=request(model)) as run:
        deltas = sum([isinstance(event, seamstream.TextDelta) async for event in run])
    check_count(deltas, model)


async def read_chunks(client: openai.AsyncOpenAI, model: str) -> None:
    chunks = await client.chat.completions.create(**request(model))
    check_count(sum([bool(chunk.choices[0].delta.content) async for chunk in chunks]), model)


def check_count(deltas: int, model: str) -> None:
    if deltas != int(model.split()[1]):
        raise RuntimeError(f"{deltas} deltas of {model!r}")


async def reconnect(port: str, cuts: str) -> Readings:
    """Milliseconds from the loss of the connection to the next request's head on the wire.

    The bare side asks again in its `except`: what aiohttp needs for that alone.
    """
    readings: Readings = {}
    for side in SIDES:
        moments = CutMoments()
        async with new_http(side, moments.trace()) as http:
            for number in range(int(cuts)):
                await (read_all if side == "seamstream" else ask_twice)(http, port, f"cut_once {number}")
                await asyncio.sleep(CUT_GAP_S)
        moments.stop()
        readings[side] = moments.delays_ms
    return readings


class CutMoments:
    """Notes when aiohttp's protocol is told that a connection was reset, and when the next request leaves."""

    def __init__(self) -> None:
        self.delays_ms: list[float] = []
        self._reset_at_s: float | None = None
        self._stock = ResponseHandler.connection_lost
        ResponseHandler.connection_lost = self._noting()

    def _noting(self) -> Callable[[ResponseHandler, BaseException | None], None]:
        def connection_lost(protocol: ResponseHandler, error: BaseException | None) -> None:
            if error is not None:
                self._reset_at_s = time.perf_counter()
            self._stock(protocol, error)

        return connection_lost

    def stop(self) -> None:
        ResponseHandler.connection_lost = self._stock

    def trace(self) -> aiohttp.TraceConfig:
        trace = aiohttp.TraceConfig()
        trace.on_request_headers_sent.append(self._request_left)
        return trace

    async def _request_left(self, *_: object) -> None:
        if self._reset_at_s is not None:
            self.delays_ms.append((time.perf_counter() - self._reset_at_s) * 1e3)
            self._reset_at_s = None


async def ask_twice(http: aiohttp.ClientSession, port: str, model: str) -> None:
    try:
        await read_all(http, port, model)
    except aiohttp.ClientPayloadError:
        again = request(model)
        again["messages"] += [{"role": "user", "content": 'go on after "and the"'}]
        async with http.post(url(port), json=again) as response:
            await response.read()


CASES: dict[str, Callable[..., Awaitable[Readings]]] = {
    "cpu": cpu,
    "first_token": first_token,
    "memory": memory,
    "reconnect": reconnect,
    "typed": typed,
}

if __name__ == "__main__":
    print(json.dumps(uvloop.run(CASES[sys.argv[1]](*sys.argv[2:]))))
