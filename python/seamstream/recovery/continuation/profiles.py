"""Who accepts which way of asking for the rest: rules by host, dialect and model, and what refusals taught.

Rules are data, and the user's come first. A refusal that names prefill is remembered per target, model and
strategy for a day, so that a new model costs one failed request and not one per cut; the memory is bounded
and exportable.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

from .build import Strategy
from .facts import Dialect

REMEMBER_S: Final = 86_400.0
MAX_REMEMBERED: Final = 1024


@dataclass(frozen=True, slots=True)
class Profile:
    """What one provider or model can do. `host` and `model` are patterns (`*`), compared without case.

    `done_is_end`: this server never sends a finish reason, so its `[DONE]` alone proves the answer complete.
    """

    strategies: tuple[Strategy, ...]
    host: str = "*"
    dialect: Dialect | None = None
    model: str = "*"
    done_is_end: bool = False

    def matches(self, host: str, dialect: Dialect, model: str) -> bool:
        if self.dialect is not None and self.dialect != dialect:
            return False
        hosts, models = self.host.lower(), self.model.lower()
        return fnmatchcase(host.lower(), hosts) and fnmatchcase(model.lower(), models)


@dataclass(frozen=True, slots=True)
class LearntRefusal:
    """A way of asking that a target refused for a model. `until_s` is wall-clock time since the epoch."""

    target: str
    model: str
    strategy: str
    until_s: float


_ANTHROPIC: Final = Profile(("prefill", "prompt"), dialect="anthropic")
_ANTHROPIC_NO_PREFILL: Final = Profile(("prompt",), dialect="anthropic")
_CHAT: Final = Profile(("prompt",), dialect="openai-chat")
_RESPONSES: Final = Profile(("prompt",), dialect="openai-responses")

_CLAUDE_VERSION = re.compile(r"claude-(?:[a-z]+-)?(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)", re.ASCII)
_CLAUDE_NEW_FAMILY = re.compile(r"claude-(?:mythos|fable)", re.ASCII)
_FIRST_WITHOUT_PREFILL: Final = (4, 6)


def refuses_prefill(model: str) -> bool:
    """Is this one of the Claude models that are known to refuse a prefill (4.6 and later)?"""
    name = model.lower()
    if _CLAUDE_NEW_FAMILY.search(name):
        return True
    version = _CLAUDE_VERSION.search(name)
    return version is not None and (int(version[1]), int(version[2] or 0)) >= _FIRST_WITHOUT_PREFILL


class ProfileBook:
    """Answers which strategies to try, best first. Belongs to one process; times come from the caller."""

    def __init__(self, profiles: Iterable[Profile] = (), *, remember_s: float = REMEMBER_S) -> None:
        self._profiles = tuple(profiles)
        self._remember_s = remember_s
        self._refusals: OrderedDict[tuple[str, str, str], float] = OrderedDict()

    def profile(self, *, host: str, dialect: Dialect, model: str) -> Profile:
        """The user's first matching profile, else what is known about the dialect and model."""
        for profile in self._profiles:
            if profile.matches(host, dialect, model):
                return profile
        if dialect != "anthropic":
            return _CHAT if dialect == "openai-chat" else _RESPONSES
        return _ANTHROPIC_NO_PREFILL if refuses_prefill(model) else _ANTHROPIC

    def strategies(self, *, host: str, dialect: Dialect, model: str, now: float) -> tuple[Strategy, ...]:
        """The strategies of that profile without those that this target refused lately for this model."""
        accepted = self.profile(host=host, dialect=dialect, model=model).strategies
        return tuple(name for name in accepted if self._refusals.get((host, model, name), now) <= now)

    def remember_refusal(self, *, host: str, model: str, strategy: str, now: float) -> None:
        """A target refused this way of asking for this model."""
        self._remember((host, model, strategy), now + self._remember_s)

    def export(self) -> tuple[LearntRefusal, ...]:
        """What refusals taught, to be loaded by another process."""
        return tuple(LearntRefusal(*key, until_s) for key, until_s in self._refusals.items())

    def load(self, refusals: Iterable[LearntRefusal]) -> None:
        """Take over what another process learnt."""
        for refusal in refusals:
            self._remember((refusal.target, refusal.model, refusal.strategy), refusal.until_s)

    def _remember(self, key: tuple[str, str, str], until_s: float) -> None:
        self._refusals[key] = until_s
        self._refusals.move_to_end(key)
        while len(self._refusals) > MAX_REMEMBERED:
            self._refusals.popitem(last=False)
