"""The rows and columns of docs/failures.md, each as something that can be made to happen.

A row is a fault that no plan can mend; a column is a way of reading. What comes of the two is a `Got`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import anthropic
import httpx2
import openai
from httpx_aiohttp.httpx2 import AiohttpTransport

import seamstream
from seamstream.httpx import RecoveryTransport, SyncRecoveryTransport
from seamstream.testing import Answer, DeterministicModel, Dialect, Fault, FaultServer, Persona, Text, tokens

SAID = "Reefs grow where warm, clear water meets the light, slowly, over hundreds and thousands of years."
POLICY = seamstream.RecoveryPolicy(backoff=seamstream.BackoffPolicy(first_s=0.01, max_s=0.01))
FOR_EVER = 20
MIDDLE = {"after_text": b"clear"}

SCHEMA = {"type": "object"}
STRUCTURED: dict[Dialect, dict[str, Any]] = {
    "openai-chat": {
        "response_format": {"type": "json_schema", "json_schema": {"name": "reef", "schema": SCHEMA}}
    },
    "anthropic": {"output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}},
}


@dataclass(frozen=True, slots=True)
class Row:
    """A failure: the server's script and persona, and what the request and the policy have to do with it."""

    script: Sequence[Fault]
    persona: Persona = "plain"
    structured: bool = False
    policy: seamstream.RecoveryPolicy = POLICY

    def request(self, dialect: Dialect) -> dict[str, Any]:
        base = {
            "model": "m",
            "max_tokens": 200,
            "messages": [{"role": "user", "content": "How do reefs grow?"}],
        }
        return base | (STRUCTURED[dialect] if self.structured else {})


@dataclass(slots=True)
class Got:
    """What the reader had in its hands at the end."""

    body: bytes = b""
    status: int | None = None
    headers: dict[str, str] = field(default_factory=dict)
    events: list[Any] = field(default_factory=list)
    error: Exception | None = None


ROWS: dict[str, Row] = {
    "cut again and again": Row([Fault.reset(**MIDDLE)] * FOR_EVER),
    "ended early again and again, though nothing looked broken": Row([Fault.clean_end(**MIDDLE)] * FOR_EVER),
    "cut, and the rest could not be joined (structured output)": Row(
        [Fault.reset(**MIDDLE)], structured=True
    ),
    "cut, and the model did not go on where it was asked to": Row([Fault.reset(**MIDDLE)], "refuser"),
    "an error event inside the stream that asking again cannot mend": Row(
        [Fault.in_band_error(400, after_events=8)]
    ),
    "an error event inside the stream, again and again": Row(
        [Fault.in_band_error(529, after_events=8)] * FOR_EVER
    ),
    "an HTTP error before the stream, for good": Row([Fault.http_error(400)] * FOR_EVER),
    "an HTTP error before the stream, again and again": Row([Fault.http_error(529)] * FOR_EVER),
    "asked to wait longer than `max_retry_after_s`": Row([Fault.http_error(429, {"retry-after": "900"})]),
    "no connection, or none that answered": Row([Fault.no_response()] * FOR_EVER),
    "status 200, but no event stream": Row([Fault.html()]),
    "one event larger than `max_event_bytes`": Row([], policy=POLICY.replace(max_event_bytes=100)),
}

Read = Callable[[FaultServer, Dialect, Row, bool], Awaitable[Got]]


def server_for(row: Row) -> FaultServer:
    # Where prefill is accepted a refuser is never asked by a quotation, and so could not refuse the seam.
    model = DeterministicModel(
        Answer((Text(tokens(SAID)),)), row.persona, accepts_prefill=row.persona == "plain"
    )
    return FaultServer(model, row.script)


def session_for(row: Row, *, recovering: bool) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        middlewares=[seamstream.RecoveryMiddleware(row.policy)] if recovering else []
    )


async def read_bytes(server: FaultServer, dialect: Dialect, row: Row, recovering: bool) -> Got:
    got = Got()
    async with session_for(row, recovering=recovering) as session:
        try:
            request = row.request(dialect) | {"stream": True}
            async with session.post(server.url_for(dialect), json=request) as response:
                got.status, got.headers = response.status, dict(response.headers)
                async for data in response.content.iter_any():
                    got.body += data
        except aiohttp.ClientError as error:
            got.error = error
    return got


async def read_events(server: FaultServer, dialect: Dialect, row: Row, _recovering: bool) -> Got:
    got = Got()
    url = server.url_for(dialect)
    async with aiohttp.ClientSession() as session:
        try:
            async with seamstream.stream(session, url, json=row.request(dialect), policy=row.policy) as run:
                async for event in run:
                    got.events.append(event)
        except (seamstream.SeamstreamError, aiohttp.ClientError) as error:
            got.error = error
    return got


async def read_httpx(server: FaultServer, dialect: Dialect, row: Row, _recovering: bool) -> Got:
    got = Got()
    transport = RecoveryTransport(httpx2.AsyncHTTPTransport(), row.policy, profiles=seamstream.ProfileBook())
    async with httpx2.AsyncClient(transport=transport, timeout=30) as client:
        try:
            request = row.request(dialect) | {"stream": True}
            async with client.stream("POST", server.url_for(dialect), json=request) as response:
                got.status, got.headers = response.status_code, dict(response.headers)
                async for data in response.aiter_raw():
                    got.body += data
        except httpx2.HTTPError as error:
            got.error = error
    return got


async def read_httpx_in_a_thread(server: FaultServer, dialect: Dialect, row: Row, _recovering: bool) -> Got:
    return await asyncio.to_thread(_read_httpx_sync, server.url_for(dialect), row, row.request(dialect))


def _read_httpx_sync(url: str, row: Row, request: dict[str, Any]) -> Got:
    got = Got()
    transport = SyncRecoveryTransport(httpx2.HTTPTransport(), row.policy, profiles=seamstream.ProfileBook())
    with httpx2.Client(transport=transport, timeout=30) as client:
        try:
            with client.stream("POST", url, json=request | {"stream": True}) as response:
                got.status, got.headers = response.status_code, dict(response.headers)
                for data in response.iter_raw():
                    got.body += data
        except httpx2.HTTPError as error:
            got.error = error
    return got


async def read_openai(server: FaultServer, dialect: Dialect, row: Row, recovering: bool) -> Got:
    got = Got()
    async with session_for(row, recovering=recovering) as session:
        transport = openai.DefaultAioHttpClient(transport=AiohttpTransport(client=session))
        client = openai.AsyncOpenAI(
            api_key="none", base_url=f"{server.url}/v1", http_client=transport, max_retries=0
        )
        try:
            async for chunk in await client.chat.completions.create(**row.request(dialect), stream=True):
                got.events.append(chunk)
        except Exception as error:
            got.error = error
    return got


async def read_anthropic(server: FaultServer, dialect: Dialect, row: Row, recovering: bool) -> Got:
    got = Got()
    async with session_for(row, recovering=recovering) as session:
        transport = anthropic.DefaultAioHttpClient(transport=AiohttpTransport(client=session))
        client = anthropic.AsyncAnthropic(
            api_key="none", base_url=server.url, http_client=transport, max_retries=0
        )
        try:
            async for event in await client.messages.create(**row.request(dialect), stream=True):
                got.events.append(event)
        except Exception as error:
            got.error = error
    return got


COLUMNS: dict[str, tuple[Read, tuple[Dialect, ...]]] = {
    "aiohttp with the middleware": (read_bytes, ("openai-chat", "anthropic")),
    "httpx2 with `RecoveryTransport`": (read_httpx, ("openai-chat", "anthropic")),
    "httpx2 with `SyncRecoveryTransport`": (read_httpx_in_a_thread, ("openai-chat", "anthropic")),
    "`seamstream.stream()`": (read_events, ("openai-chat", "anthropic")),
    "openai SDK over the middleware": (read_openai, ("openai-chat",)),
    "anthropic SDK over the middleware": (read_anthropic, ("anthropic",)),
}
