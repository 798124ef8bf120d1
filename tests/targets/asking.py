"""The four ways to ask, behind one function, and what came of it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any, Final

import aiohttp
import httpx2

import seamstream
from seamstream import Outcome, ProfileBook, RecoveryPolicy, StreamCutError, TextDelta
from seamstream.httpx import RecoveryTransport, SyncRecoveryTransport
from seamstream.testing import Answer, DeterministicModel, Dialect, Text, read_turn, tokens

SURFACES: Final = ("middleware", "stream", "httpx", "httpx-sync")
TEXT: Final = "Lighthouses burn all night so that nobody has to guess where the rocks are, and keepers sleep."
MODEL: Final = DeterministicModel(Answer((Text(tokens(TEXT)),)))
QUESTION: Final[dict[str, Any]] = {
    "model": "m",
    "max_tokens": 500,
    "stream": True,
    "messages": [{"role": "user", "content": "Why do lighthouses burn?"}],
}
SECRETS: Final = {"Authorization": "Bearer sk-caller", "X-Custom-Token": "sk-custom"}


@dataclass
class Got:
    """What a reader got."""

    text: str = ""
    error: BaseException | None = None
    outcomes: list[Outcome] = field(default_factory=list)
    turn: Any = None


async def ask(
    surface: str,
    url: str,
    policy: RecoveryPolicy,
    *,
    dialect: Dialect = "openai-chat",
    headers: dict[str, str] | None = None,
    **options: Any,
) -> Got:
    """Ask over one surface and read to the end, or to its error."""
    given = {"profiles": ProfileBook(), **options}
    got, sent = Got(), {**SECRETS, **(headers or {})}
    body = bytearray()
    with seamstream.capture() as got.outcomes:
        try:
            if surface == "stream":
                await _typed(url, policy, sent, given, got)
            elif surface == "middleware":
                await _over_aiohttp(url, policy, sent, given, body)
            elif surface == "httpx":
                await _over_httpx(url, policy, sent, given, body)
            else:
                await asyncio.to_thread(_over_sync_httpx, url, policy, sent, given, body)
        except Exception as error:
            got.error = error
            if isinstance(error, StreamCutError):
                got.turn = error.turn
    if body and got.error is None:
        got.text = read_turn(dialect, bytes(body)).text
    return got


async def _typed(url: str, policy: Any, headers: Any, given: Any, got: Got) -> None:
    async with (
        aiohttp.ClientSession(headers={"X-Session-Secret": "sk-session"}) as session,
        seamstream.stream(session, url, json=QUESTION, headers=headers, policy=policy, **given) as run,
    ):
        async for event in run:
            got.text += event.text if isinstance(event, TextDelta) else ""
        got.turn = run.turn


async def _over_aiohttp(url: str, policy: Any, headers: Any, given: Any, body: bytearray) -> None:
    layer = seamstream.RecoveryMiddleware(policy, **given)
    async with (
        aiohttp.ClientSession(middlewares=(layer,)) as session,
        session.post(url, json=QUESTION, headers=headers) as response,
    ):
        async for chunk in response.content.iter_any():
            body += chunk


async def _over_httpx(url: str, policy: Any, headers: Any, given: Any, body: bytearray) -> None:
    transport = RecoveryTransport(httpx2.AsyncHTTPTransport(), policy, **given)
    async with (
        httpx2.AsyncClient(transport=transport, timeout=30) as client,
        client.stream("POST", url, json=QUESTION, headers=headers) as response,
    ):
        async for chunk in response.aiter_raw():
            body += chunk


def _over_sync_httpx(url: str, policy: Any, headers: Any, given: Any, body: bytearray) -> None:
    transport = SyncRecoveryTransport(httpx2.HTTPTransport(), policy, **given)
    with (
        httpx2.Client(transport=transport, timeout=30) as client,
        client.stream("POST", url, json=QUESTION, headers=headers) as response,
    ):
        for chunk in response.iter_raw():
            body += chunk
