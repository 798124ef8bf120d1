"""Who accepts which way of asking for the rest, as far as it is published: one row per provider and model.

The first row that matches holds. Claude models are told apart by their version, wherever they are served.
Servers that anybody runs (`SERVERS`) have no host name of their own: they are recognised by what they say in
their response headers, or named in a profile of the user's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from .facts import Dialect, Strategy
from .profile import Profile

_PREFIX_FLAG: Final[tuple[Strategy, ...]] = ("prefix-flag", "prompt")

KNOWN: Final[tuple[Profile, ...]] = (
    Profile(
        *(_PREFIX_FLAG, "api.deepseek.com", "openai-chat"),
        prefix_path="/beta/chat/completions",
        returns_reasoning=True,
    ),
    Profile(_PREFIX_FLAG, "api.mistral.ai", "openai-chat"),
    Profile(_PREFIX_FLAG, "*.mistral.ai", "openai-chat"),
    Profile(("prompt",), dialect="openai-chat"),
    Profile(("prompt",), dialect="openai-responses"),
    Profile(("prefill", "prompt"), dialect="anthropic"),
    Profile(("prefill", "prompt"), dialect="gemini"),
    Profile(("prefill", "prompt"), dialect="ollama"),
    Profile(("prompt",), dialect="cohere"),
    Profile(("prefill", "prompt"), dialect="bedrock", model="*claude*"),
    Profile(("prompt",), dialect="bedrock"),
    Profile(("prompt",), dialect="gemini-interactions"),
)
"""Hosts that are not named here get the last row of their dialect."""

SERVERS: Final[Mapping[str, Profile]] = {
    "vllm": Profile(("continue-final-message", "prompt"), dialect="openai-chat"),
    "sglang": Profile(
        ("continue-final-message", "prompt"),
        dialect="openai-chat",
        continue_fields=(("continue_final_message", True),),
    ),
    "llama.cpp": Profile(("continue-final-message", "prefill", "prompt"), dialect="openai-chat"),
    "tgi": Profile(("prefill", "prompt"), dialect="openai-chat"),
}
"""Servers that anybody may run. For one of your own: `dataclasses.replace(SERVERS["vllm"], host="gpu-7")`."""

_CLAUDE_VERSION = re.compile(r"claude-(?:[a-z]+-)?(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)", re.ASCII)
_CLAUDE_NEW_FAMILY = re.compile(r"claude-(?:mythos|fable)", re.ASCII)
_FIRST_WITHOUT_PREFILL: Final = (4, 6)
_GEMINI_VERSION = re.compile(r"gemini-(\d{1,2})(?:\.(\d{1,2}))?(?!\d)(-flash-lite)?", re.ASCII)
_FIRST_GEMINI_WITHOUT_PREFILL: Final = (3, 6)
_FIRST_LITE_WITHOUT_PREFILL: Final = (3, 5)


def refuses_prefill(model: str) -> bool:
    """Is this model known to refuse a prefill: Claude from 4.6, Gemini from 3.6 (flash-lite 3.5)?"""
    name = model.lower()
    if gemini := _GEMINI_VERSION.search(name):
        first = _FIRST_LITE_WITHOUT_PREFILL if gemini[3] else _FIRST_GEMINI_WITHOUT_PREFILL
        return (int(gemini[1]), int(gemini[2] or 0)) >= first
    if _CLAUDE_NEW_FAMILY.search(name):
        return True
    version = _CLAUDE_VERSION.search(name)
    return version is not None and (int(version[1]), int(version[2] or 0)) >= _FIRST_WITHOUT_PREFILL


def known_profile(host: str, dialect: Dialect, model: str) -> Profile:
    """The row of this provider and model."""
    return next(row for row in KNOWN if row.matches(host, dialect, model))


def server_of(headers: Mapping[str, str]) -> str | None:
    """The server that a response comes from, if it says so for certain (header names in lower case)."""
    name = headers.get("server", "").partition("/")[0].strip().lower()
    return name if name in SERVERS else None
