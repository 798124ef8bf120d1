"""Where an attempt goes, when that is not where its caller sent the first one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

CREDENTIALS: Final = (
    *("Authorization", "Proxy-Authorization", "Cookie"),
    *("x-api-key", "api-key", "x-goog-api-key", "x-amz-security-token"),
)
KEY_PARAMETERS: Final = ("key", "api_key", "access_token")
"""Headers and query items that must not reach another origin than the one that they were meant for."""


@dataclass(frozen=True, slots=True)
class Route:
    """What differs from the caller's request; everything else stays as it was.

    `query` items are set beside the caller's own. `without` names headers that must not be sent, `headers`
    are set after that; another `origin` (scheme, host and port) never gets the caller's credentials unless
    they are named there again.
    """

    method: str | None = None
    origin: str | None = None
    path: str | None = None
    query: tuple[tuple[str, str], ...] = ()
    headers: tuple[tuple[str, str], ...] = ()
    without: tuple[str, ...] = ()
