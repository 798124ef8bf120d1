"""What keeps a response that its reader has dropped from living on in the event loop or in an exception."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any


def weakly(method: Callable[..., None]) -> Callable[..., None]:
    """For the event loop, which must not keep a dropped response alive."""
    reference = weakref.WeakMethod(method)

    def call(*arguments: Any) -> None:
        bound = reference()
        if bound is not None:
            bound(*arguments)

    return call


def drop_frames(error: BaseException | None) -> None:
    """Where in the parser an error was raised tells nobody anything, but its frames hold the response."""
    while error is not None:
        error.__traceback__ = None
        error = error.__cause__ or error.__context__
