"""Who accepts which way of asking for the rest: rules by host, dialect and model, and what refusals taught.

Rules are data, and the user's come first. A refusal that names prefill is remembered per target, model and
strategy for a day, so that a new model costs one failed request and not one per cut; the memory is bounded
and exportable.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from .facts import Dialect, Strategy
from .known import SERVERS, known_profile, refuses_prefill, server_of
from .profile import Profile

REMEMBER_S: Final = 86_400.0
MAX_REMEMBERED: Final = 1024


@dataclass(frozen=True, slots=True)
class LearntRefusal:
    """A way of asking that a target refused for a model. `until_s` is wall-clock time since the epoch."""

    target: str
    model: str
    strategy: str
    until_s: float


class ProfileBook:
    """Answers which strategies to try, best first. Belongs to one process; times come from the caller."""

    def __init__(self, profiles: Iterable[Profile] = (), *, remember_s: float = REMEMBER_S) -> None:
        self._profiles = tuple(profiles)
        self._remember_s = remember_s
        self._refusals: OrderedDict[tuple[str, str, str], float] = OrderedDict()
        self._servers: OrderedDict[tuple[str, Dialect], str] = OrderedDict()

    def profile(self, *, host: str, dialect: Dialect, model: str) -> Profile:
        """The user's first matching profile, else what is known about the dialect and model."""
        for profile in self._profiles:
            if profile.matches(host, dialect, model):
                return profile
        server = self._servers.get((host, dialect))
        return SERVERS[server] if server is not None else known_profile(host, dialect, model)

    def strategies(self, *, host: str, dialect: Dialect, model: str, now: float) -> tuple[Strategy, ...]:
        """The strategies of that profile without those that this target refused lately for this model."""
        accepted = self.profile(host=host, dialect=dialect, model=model).strategies
        if refuses_prefill(model):
            accepted = tuple(name for name in accepted if name != "prefill")
        return tuple(name for name in accepted if self._refusals.get((host, model, name), now) <= now)

    def remember_refusal(self, *, host: str, model: str, strategy: str, now: float) -> None:
        """A target refused this way of asking for this model."""
        self._remember((host, model, strategy), now + self._remember_s)

    def learn_server(self, *, host: str, dialect: Dialect, headers: Mapping[str, str]) -> None:
        """A response may say for certain which server it comes from."""
        server = server_of(headers)
        if server is None or SERVERS[server].dialect != dialect:
            return
        self._servers[host, dialect] = server
        self._servers.move_to_end((host, dialect))
        while len(self._servers) > MAX_REMEMBERED:
            self._servers.popitem(last=False)

    def forget(self) -> None:
        """Drop everything that responses taught."""
        self._refusals.clear()
        self._servers.clear()

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
