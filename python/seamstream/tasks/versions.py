"""Which code worked on a task: the versions that an audit compares with those that were released."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final

from ..recovery.digests import digest
from ..recovery.policy import RecoveryPolicy

_PACKAGES: Final = ("seamstream", "aiohttp", "orjson", "openai", "anthropic", "google-genai")


def versions_of(policy: RecoveryPolicy) -> dict[str, Any]:
    """Versions of what is installed, and a digest of the policy's settings."""
    installed = {name: found for name in _PACKAGES if (found := _installed(name)) is not None}
    settings = {name: repr(getattr(policy, name)) for name in policy.__slots__ if name != "prepare_attempt"}
    return {
        "versions": {"python": platform.python_version(), **installed},
        "policy_digest": digest(repr(sorted(settings.items())).encode()),
        "allow_after_start": policy.allow_after_start,
        "max_recoveries": policy.max_recoveries,
    }


def _installed(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
