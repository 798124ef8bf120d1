"""Stand-ins for the core that fail: in Python at the n-th call, or by a panic in Rust at the n-th event."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from seamstream._core import Splice


class CoreBrokenError(Exception):
    """What a broken core raises."""


def break_at(number: int | None) -> Any:
    """A class with the core's names whose call `number` raises; `made` counts the calls."""

    class Fragile:
        made = 0

        def __init__(self, *arguments: Any, **options: Any) -> None:
            type(self).count()
            self.core = Splice(*arguments, **options)

        @classmethod
        def count(cls) -> None:
            cls.made += 1
            if number is not None and cls.made > number:
                raise CoreBrokenError(f"call {number}")

    for name in dir(Splice):
        if not name.startswith("_"):
            setattr(Fragile, name, _counted(name, Fragile.count))
    return Fragile


def _counted(name: str, count: Callable[[], None]) -> Any:
    if inspect.isgetsetdescriptor(getattr(Splice, name)):

        def get(self: Any) -> Any:
            count()
            return getattr(self.core, name)

        return property(get)

    def call(self: Any, *arguments: Any, **options: Any) -> Any:
        count()
        return getattr(self.core, name)(*arguments, **options)

    return call


def panic_at(event: int) -> Any:
    """The real core, set to panic at its n-th event."""

    class Panicking:
        def __new__(cls, *arguments: Any, **options: Any) -> Any:
            splice = Splice(*arguments, **options)
            splice._panic_after(event)
            return splice

    for name in dir(Splice):
        if not name.startswith("_"):
            setattr(Panicking, name, getattr(Splice, name))
    return Panicking
