"""Where an attempt goes, when that is not where its caller sent the first one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

GOES_ANYWHERE: Final = frozenset(
    {
        *("accept", "accept-encoding", "content-type", "content-length", "transfer-encoding", "host"),
        *("user-agent", "idempotency-key", "anthropic-version", "anthropic-beta"),
    }
)
"""Headers that may reach another origin. All others may be secrets under a name that nobody knows."""
KEY_PARAMETERS: Final = ("key", "api_key", "access_token")
"""Query items that must not reach another origin than the one that they were meant for."""


@dataclass(frozen=True, slots=True)
class Route:
    """What differs from the caller's request; everything else stays as it was.

    `url` is another whole address to begin with, the other fields then differ from that.
    `query` items are set beside the caller's own. `without` names headers that must not be sent, `headers`
    are set after that; another origin (scheme, host and port) never gets the caller's credentials unless
    they are named there again.
    """

    url: str | None = field(default=None, repr=False)
    method: str | None = None
    origin: str | None = None
    path: str | None = None
    query: tuple[tuple[str, str], ...] = ()
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    without: tuple[str, ...] = ()


def public_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Of a caller's headers those that are certainly no secrets."""
    return {name: value for name, value in headers.items() if name.lower() in GOES_ANYWHERE}
