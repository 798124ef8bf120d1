"""Where the attempts of a run may go: the target that its caller asked, and the fallbacks of the policy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from ..errors import ConfigurationError

_DEFAULT_PORTS: Final = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True, repr=False)
class Fallback:
    """Another address for the same request, of the same dialect.

    `url` is the whole address. None of the caller's credentials go to another origin, so `headers` name those
    of this one. `model` takes the place of the request's; where a dialect names the model in the path, `url`
    has it. `spare=False`: this target serves runs of its own, and those that move to it stay under a tenth of
    them for as long as they last; a spare one limits only how many move to it at once.
    """

    url: str
    headers: Mapping[str, str] = field(default_factory=dict, hash=False)
    model: str | None = None
    spare: bool = True

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in _DEFAULT_PORTS or not parts.hostname:
            raise ConfigurationError("a fallback's url must be a whole http or https address")
        if "@" in parts.netloc:
            raise ConfigurationError("a fallback's url must hold no credentials; put them into its headers")

    def __repr__(self) -> str:
        """No headers and no query: both may hold keys."""
        place = self.place
        return f"Fallback({place.name + place.path!r}, model={self.model!r}, spare={self.spare!r})"

    @property
    def place(self) -> Place:
        """The address as runs see it."""
        parts = urlsplit(self.url)
        host = parts.hostname or ""
        name = f"{parts.scheme}://" + (f"[{host}]" if ":" in host else host)
        if parts.port is not None and parts.port != _DEFAULT_PORTS[parts.scheme]:
            name += f":{parts.port}"
        return Place(name, host, parts.path, self)


@dataclass(frozen=True, slots=True)
class Place:
    """One address of a run. `name` (scheme, host and port) is the target whose accounts it shares; `fallback`
    is None for the address that the caller asked.
    """

    name: str
    host: str
    path: str
    fallback: Fallback | None = None

    @property
    def model(self) -> str | None:
        """The model that is asked here in place of the request's."""
        return self.fallback.model if self.fallback is not None else None

    @property
    def keeps_slot(self) -> bool:
        """A run that moved here takes up room as long as it lasts."""
        return self.fallback is not None and not self.fallback.spare


def model_at(place: Place, asked: str) -> str:
    """The model that answers there when the caller's request names `asked`."""
    return place.model if place.model is not None else asked


def in_order(
    places: tuple[Place, ...], asked: str, *, speaking: str, may_change_model: bool
) -> tuple[Place, ...]:
    """The model that is `speaking` first, wherever it is served; others behind, if they may be asked."""
    same = tuple(place for place in places if model_at(place, asked) == speaking)
    if not may_change_model:
        return same
    return same + tuple(place for place in places if model_at(place, asked) != speaking)
