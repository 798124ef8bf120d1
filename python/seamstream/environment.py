"""The only reader of the process environment."""

from __future__ import annotations

import os

from .recovery.policy import RecoveryPolicy


def apply_environment(policy: RecoveryPolicy) -> RecoveryPolicy:
    """The policy as `SEAMSTREAM_MODE` overrides it."""
    return policy.with_environment(os.environ)


def store_url() -> str | None:
    """The store that commands use unless they are told of another (`SEAMSTREAM_STORE`)."""
    return os.environ.get("SEAMSTREAM_STORE") or None


def colour_is_refused() -> bool:
    """Whether the user wants no colours from any program (no-color.org)."""
    return bool(os.environ.get("NO_COLOR"))
