"""One way to ask for an answer with either library, in either style; and the policies of these tests."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any, Literal

from seamstream import BackoffPolicy, Outcome, RecoveryPolicy, capture
from seamstream.httpx import RecoveryTransport, SyncRecoveryTransport
from seamstream.testing import Answer, DeterministicModel, Dialect, Fault, Text, Tool, tokens

Style = Literal["async", "sync"]

AT_ONCE = RecoveryPolicy(backoff=BackoffPolicy(0.0, 1.0, 0.0))
IMPATIENT = AT_ONCE.replace(first_content_s=1.0, idle_s=1.0, quiet_s=1.0)
"""For stalls only: on a slow machine a healthy stream might be called one."""
NO_MORE = AT_ONCE.replace(max_recoveries=0)

REEFS = "Reefs grow where warm, clear water meets the light, slowly and for ever; the fish know it well, 🐠."
SPOKEN = DeterministicModel(Answer((Text(tokens(REEFS)),)))
CALLING = DeterministicModel(
    Answer((Text(tokens("Let me measure how deep it is here.")), Tool("depth", ('{"metres":', " 12}"))))
)
ASK: dict[str, Any] = {
    "model": "m",
    "max_tokens": 200,
    "stream": True,
    "messages": [{"role": "user", "content": "Tell me about reefs."}],
}


def policy_for(fault: Fault) -> RecoveryPolicy:
    """Short limits where nothing but a limit ends the wait."""
    return IMPATIENT if "stall" in fault.ending.value else AT_ONCE


@dataclass
class Got:
    """What a reader got, and what its run said about it."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    chunks: list[bytes] = field(default_factory=list)
    error: Exception | None = None
    outcomes: list[Outcome] = field(default_factory=list)

    @property
    def body(self) -> bytes:
        return b"".join(self.chunks)

    @property
    def outcome(self) -> Outcome:
        (outcome,) = self.outcomes
        return outcome


@dataclass(frozen=True)
class Reader:
    """A client of one library in one style. `inner` are arguments of its own transport."""

    library: Any
    style: Style
    inner: dict[str, Any] = field(default_factory=dict)

    def transport(self, policy: RecoveryPolicy | None, **options: Any) -> Any:
        """The recovering transport; without a policy the bare one."""
        bare_kind = self.library.AsyncHTTPTransport if self.style == "async" else self.library.HTTPTransport
        bare = bare_kind(**self.inner)
        if policy is None:
            return bare
        recovering: Any = RecoveryTransport if self.style == "async" else SyncRecoveryTransport
        return recovering(bare, policy, **options)

    async def fetch(
        self, url: str, policy: RecoveryPolicy | None, *, warm_up: str | None = None, **request: Any
    ) -> Got:
        """Ask, and read as far as it goes. `warm_up` is asked for first on the same connection."""
        request = {"method": "POST", "json": ASK} | request
        with capture() as outcomes:
            if self.style == "async":
                got = await self._fetch(url, policy, warm_up, request)
            else:
                got = await asyncio.to_thread(self._fetch_sync, url, policy, warm_up, request)
        got.outcomes = outcomes
        return got

    async def _fetch(
        self, url: str, policy: RecoveryPolicy | None, warm_up: str | None, request: dict[str, Any]
    ) -> Got:
        got = Got()
        async with self.library.AsyncClient(transport=self.transport(policy), timeout=30) as client:
            if warm_up is not None:
                await client.get(warm_up)
            try:
                async with client.stream(url=url, **request) as response:
                    got.status, got.headers = response.status_code, dict(response.headers)
                    async for chunk in response.aiter_raw():
                        got.chunks.append(chunk)
            except Exception as error:
                got.error = error
        return got

    def _fetch_sync(
        self, url: str, policy: RecoveryPolicy | None, warm_up: str | None, request: dict[str, Any]
    ) -> Got:
        got = Got()
        with self.library.Client(transport=self.transport(policy), timeout=30) as client:
            if warm_up is not None:
                client.get(warm_up)
            try:
                with client.stream(url=url, **request) as response:
                    got.status, got.headers = response.status_code, dict(response.headers)
                    got.chunks.extend(response.iter_raw())
            except Exception as error:
                got.error = error
        return got


def whole(model: DeterministicModel, dialect: Dialect) -> bytes:
    """The unbroken body."""
    return b"".join(model.reply(dialect, ASK).events)
