"""httpx2 and httpx are the same library under two names: everything that differs between them is looked up
here, once for each, when a transport of it is first seen.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Literal

from ..errors import ConfigurationError, FrameTooLarge, StreamCutError

Name = Literal["httpx2", "httpx"]
NAMES: Final[tuple[Name, ...]] = ("httpx2", "httpx")
_EXTRAS: Final[dict[Name, str]] = {"httpx2": "httpx", "httpx": "httpx-legacy"}


@dataclass(frozen=True, slots=True)
class HttpxModule:
    """One of the two, and the classes that are ours and its own at the same time."""

    package: Any
    cut_error: type[StreamCutError]
    frame_error: type[FrameTooLarge]
    timeout_error: type[TimeoutError]

    def async_stream(self, kind: type) -> Any:
        """`kind` as a class that this library takes for an asynchronous body."""
        return _mixed(kind, self.package.AsyncByteStream)

    def sync_stream(self, kind: type) -> Any:
        """`kind` as a class that this library takes for a synchronous body."""
        return _mixed(kind, self.package.SyncByteStream)


@cache
def load(name: Name) -> HttpxModule:
    """Import it."""
    try:
        library = importlib.import_module(name)
    except ImportError as error:
        raise ConfigurationError(
            f"{name} is not installed; install it with: pip install 'seamstream[{_EXTRAS[name]}]'"
        ) from error
    return HttpxModule(
        library,
        _error("HttpxStreamCutError", StreamCutError, library.ReadError),
        _error("HttpxFrameTooLarge", FrameTooLarge, library.ReadError),
        _error("HttpxTimeoutError", library.ReadTimeout, TimeoutError),
    )


def module_of(transport: object) -> HttpxModule:
    """The library that a transport, or a client, belongs to."""
    for kind in type(transport).__mro__:
        for name in NAMES:
            if kind.__module__.partition(".")[0] == name:
                return load(name)
    raise ConfigurationError(f"{type(transport).__name__} is a class of neither httpx2 nor httpx")


@cache
def _mixed(kind: type, base: type) -> type:
    return type(kind.__name__, (kind, base), {"__module__": kind.__module__, "__doc__": kind.__doc__})


def _error(name: str, first: type, second: type) -> Any:
    doc = f"{first.__name__}, for readers who know {second.__module__}'s exceptions."
    return type(name, (first, second), {"__module__": __name__, "__doc__": doc})
