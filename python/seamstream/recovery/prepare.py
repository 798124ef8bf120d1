"""The user's hook that sees each attempt before it is sent: to sign it again, to refresh a token, to ask a
rate limiter, to price it, or to refuse it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt about to be sent, without the caller's secrets.

    `headers` are those of the caller that carry no secret, and what this attempt sets in their place. `path`
    has no query, because keys may stand there. `produced_tokens` is a lower bound of what the turn has cost
    in output so far; `max_tokens` is what this attempt's body allows. `plan` and `strategy` are None for a
    first request and for one that is sent again before its stream began.
    """

    run_id: str
    number: int
    dialect: str
    origin: str
    path: str
    model: str
    body: bytes = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    plan: str | None = None
    strategy: str | None = None
    produced_tokens: int = 0
    max_tokens: int | None = None

    @property
    def url(self) -> str:
        """Where it goes, without a query."""
        return self.origin + self.path


@dataclass(frozen=True, slots=True)
class AttemptRequest:
    """What to change about an attempt. `url` takes the place of the whole address: another origin gets none
    of the caller's credentials, unless `headers` name them.
    """

    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: bytes | None = field(default=None, repr=False)
    url: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class AttemptRefusal:
    """Do not send it, and end the run. `reason` becomes part of the error's message."""

    reason: str


PrepareAnswer = AttemptRequest | AttemptRefusal | None
"""None: send it as it is."""

PrepareAttempt = Callable[[Attempt], PrepareAnswer | Awaitable[PrepareAnswer]]
"""Under a synchronous transport it must not return an awaitable."""


@dataclass(frozen=True, slots=True)
class Preparation:
    """The hook, what it is shown, and how long an awaitable of it may take."""

    hook: PrepareAttempt
    attempt: Attempt
    limit_s: float
