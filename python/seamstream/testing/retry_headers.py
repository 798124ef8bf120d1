"""Every form in which providers say "come back later", for a given wait."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import format_datetime


def retry_headers(wait_s: float, now_s: float) -> dict[str, dict[str, str]]:
    """Response headers by the name of their form. `now_s` is the server's clock, seconds since 1970."""
    seconds, later = f"{max(0, round(wait_s))}", datetime.fromtimestamp(now_s + wait_s, UTC)
    return {
        "retry-after seconds": {"retry-after": seconds},
        "retry-after date": {"retry-after": format_datetime(later, usegmt=True)},
        "retry-after-ms": {"retry-after-ms": f"{wait_s * 1000:.0f}"},
        "x-should-retry true": {"x-should-retry": "true", "retry-after": seconds},
        "x-should-retry false": {"x-should-retry": "false", "retry-after": seconds},
        "openai reset duration": {
            "x-ratelimit-reset-requests": _go_duration(wait_s),
            "x-ratelimit-reset-tokens": _go_duration(wait_s / 2),
        },
        "azure reset seconds": {"x-ratelimit-reset-requests": seconds, "x-ratelimit-reset-tokens": seconds},
        "reset epoch seconds": {"x-ratelimit-reset": f"{now_s + wait_s:.0f}"},
        "reset epoch milliseconds": {"x-ratelimit-reset": f"{(now_s + wait_s) * 1000:.0f}"},
        "anthropic reset": {
            "anthropic-ratelimit-requests-reset": later.isoformat().replace("+00:00", "Z"),
            "anthropic-ratelimit-output-tokens-reset": later.isoformat().replace("+00:00", "Z"),
        },
        "none": {},
    }


def _go_duration(seconds: float) -> str:
    """`1m30s`, `12s`, `120ms`: the way Go prints a duration."""
    if seconds < 1:
        return f"{seconds * 1000:.0f}ms"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"
