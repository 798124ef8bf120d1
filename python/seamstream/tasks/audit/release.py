"""The release file: what was decided, locked and rehearsed before this code went into production.

It is TOML, or JSON of the same form (docs/audit.md). A name that is not known is an error: a misspelt section
would pass for one that is missing, and a misspelt switch for one that was never set.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any, Final, TypeVar

import orjson

from ...errors import ConfigurationError

T = TypeVar("T")

DRILLS: Final = ("cancel", "code", "task", "side_effect")
CANCEL_REACHES: Final = ("provider", "tools", "stream", "worker")
"""What must be seen to end in a drill of cancellation."""


class ReleaseError(ConfigurationError):
    """A release file cannot be read; the message names the place in it."""


@dataclass(frozen=True, slots=True)
class RecoveryDecision:
    """The limits of recovery as somebody has set them. An empty digest was not locked."""

    allow_after_start: bool
    max_recoveries: int
    policy_digest: str = ""


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider that is meant to be asked, and for which models."""

    target: str
    models: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Drill:
    """One rehearsal: who is responsible, on which day it was held, whether it went well, what it covered."""

    owner: str
    on: date
    passed: bool
    covers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Release:
    """A release file. `undo` says for each tool that writes how, or by whom, its effect is undone."""

    recovery: RecoveryDecision | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    isolated_prereleases: tuple[str, ...] = ()
    providers: tuple[Provider, ...] = ()
    drills: Mapping[str, Drill] = field(default_factory=dict)
    undo: Mapping[str, str] = field(default_factory=dict)


def load_release(path: str | Path) -> Release:
    """Read a release file: JSON if its name ends in `.json`, else TOML. ReleaseError when it is not right."""
    try:
        text = Path(path).read_text("utf-8")
        document = orjson.loads(text) if str(path).endswith(".json") else tomllib.loads(text)
    except OSError as error:
        raise ReleaseError(f"the release file cannot be read: {error}") from error
    except ValueError as error:
        raise ReleaseError(f"{path}: {error}") from error
    return read_release(document)


def read_release(document: Any) -> Release:
    """A release from parsed TOML or JSON; ReleaseError for what does not fit."""
    top = _Table(document, "")
    release = Release(
        recovery=top.get("recovery", _recovery, None),
        versions=top.get("versions", _texts, {}),
        isolated_prereleases=top.get("isolated_prereleases", _names, ()),
        providers=top.get("providers", _providers, ()),
        drills=top.get("drills", _drills, {}),
        undo=top.get("undo", _texts, {}),
    )
    top.end()
    return release


class _Table:
    """A table whose members are taken out one by one; what is left over at the end is an error."""

    def __init__(self, value: Any, where: str) -> None:
        self._members: dict[str, Any] = dict(_of(dict, value, where))
        self._where = where

    def need(self, name: str, read: Callable[[Any, str], T]) -> T:
        where = self._place(name)
        if name not in self._members:
            raise ReleaseError(f"{where} is missing")
        return read(self._members.pop(name), where)

    def get(self, name: str, read: Callable[[Any, str], T], default: T) -> T:
        return self.need(name, read) if name in self._members else default

    def end(self) -> None:
        for name in self._members:
            raise ReleaseError(f"{self._place(name)} is not known")

    def _place(self, name: str) -> str:
        return f"{self._where}.{name}" if self._where else name


def _recovery(value: Any, where: str) -> RecoveryDecision:
    table = _Table(value, where)
    decision = RecoveryDecision(
        table.need("allow_after_start", _flag),
        table.need("max_recoveries", _count),
        table.get("policy_digest", _text, ""),
    )
    table.end()
    return decision


def _providers(value: Any, where: str) -> tuple[Provider, ...]:
    return tuple(_provider(each, f"{where}[{at}]") for at, each in enumerate(_of(list, value, where)))


def _provider(value: Any, where: str) -> Provider:
    table = _Table(value, where)
    provider = Provider(table.need("target", _text), table.need("models", _names))
    table.end()
    return provider


def _drills(value: Any, where: str) -> dict[str, Drill]:
    table = _Table(value, where)
    found = {name: table.get(name, _drill, None) for name in DRILLS}
    table.end()
    return {name: drill for name, drill in found.items() if drill is not None}


def _drill(value: Any, where: str) -> Drill:
    table = _Table(value, where)
    drill = Drill(
        *(table.need("owner", _text), table.need("on", _day), table.need("passed", _flag)),
        covers=table.get("covers", _names, ()),
    )
    table.end()
    return drill


def _texts(value: Any, where: str) -> dict[str, str]:
    return {name: _text(each, f"{where}.{name}") for name, each in _of(dict, value, where).items()}


def _names(value: Any, where: str) -> tuple[str, ...]:
    return tuple(_text(each, f"{where}[{at}]") for at, each in enumerate(_of(list, value, where)))


def _text(value: Any, where: str) -> str:
    text: str = _of(str, value, where)
    if not text.strip():
        raise ReleaseError(f"{where} is empty")
    return text


def _flag(value: Any, where: str) -> bool:
    flag: bool = _of(bool, value, where)
    return flag


def _count(value: Any, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ReleaseError(f"{where} must be a number from 0, not {value!r}")
    return value


def _day(value: Any, where: str) -> date:
    """TOML has dates; in JSON they are text."""
    if isinstance(value, str):
        try:
            return date.fromisoformat(value)
        except ValueError as error:
            raise ReleaseError(f"{where} must be a day like 2026-12-01, not {value!r}") from error
    if type(value) is not date:
        raise ReleaseError(f"{where} must be a day like 2026-12-01, not {value!r}")
    return value


_KINDS: Final = {dict: "a table", list: "a list", str: "a text", bool: "true or false"}


def _of(kind: type, value: Any, where: str) -> Any:
    if not isinstance(value, kind):
        raise ReleaseError(f"{where or 'the release file'} must be {_KINDS[kind]}, not {value!r:.40}")
    return value
