"""Strategy `resume`: the server still has the stream, and gives the rest of it from an exact position on.

Only what the caller's own request allows: nothing is ever stored, run in the background or named because of
us. Nothing is asked of the model again, so neither tools nor formats nor several choices stand in the way.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Final

from ...types import Snapshot
from ..classify import FailureClass
from .build import Continuation
from .dialects import form_of
from .facts import RequestFacts
from .route import Route

RESUME: Final = "resume"
CONVERSATION_HEADER: Final = "X-Conversation-Id"
"""By it a caller of llama.cpp's server asks to have a stream kept; the stream goes by that name."""

_OVER: Final = b"response.failed"
_NOT_FOUND: Final = 404
_BODY_HEADERS: Final = ("Content-Type", "Content-Length", "Transfer-Encoding")


class Resumption:
    """The ways of taking up the responses of one run, without those that the server has refused."""

    def __init__(self, path: str, conversation: str | None) -> None:
        """`path` is that of the caller's request, `conversation` the caller's header."""
        self._path = path
        self._conversation = conversation
        self._refused: set[tuple[str | None, tuple[str, ...]]] = set()
        self._unknown = False
        """The server knows nothing of the response."""

    def way(self, facts: RequestFacts, snapshot: Snapshot) -> Continuation | None:
        """The best way that is left."""
        ways = resume(facts, snapshot, path=self._path, conversation=self._conversation)
        left = (way for way in ways if _key(way) not in self._refused)
        return next((way for way in left if not (way.polls and self._unknown)), None)

    def refused(
        self,
        tried: Continuation | None,
        failure: FailureClass | None,
        gap: str | None,
        *,
        silent: bool,
    ) -> bool:
        """Was it `tried`, and has the server nothing there? A busy one may still have it. A stream that fell
        silent too soon is not taken up again either, but that is no refusal.
        """
        if tried is None or not tried.native:
            return False
        gone = failure is not None and (failure.status or 500) < 500 and not failure.retryable
        if gone or gap is not None or (silent and tried.patience_s < math.inf):
            self._refused.add(_key(tried))
        if gone and failure is not None and failure.status == _NOT_FOUND:
            self._unknown = True
        return gone or gap is not None


def _key(way: Continuation) -> tuple[str | None, tuple[str, ...]]:
    route = way.route or Route()
    return route.path, tuple(name for name, _ in route.query)


def resume(
    facts: RequestFacts, snapshot: Snapshot, *, path: str, conversation: str | None
) -> tuple[Continuation, ...]:
    """The ways of taking up the response that was cut, best first. `conversation` is the caller's header."""
    point = snapshot.resume_point
    if point is None or (snapshot.error is not None and _OVER in snapshot.error.raw):
        return ()
    form = form_of(facts.dialect)
    streams = [_way(form.resumes(facts, point, path), patience_s=form.resume_patience_s)]
    if conversation:
        query = (("conv_id", conversation), ("from", str(point.offset)))
        streams.append(_way(Route(method="GET", path=f"{_base(path)}/v1/stream", query=query)))
    ways = [*streams, _way(form.whole(facts, point, path), polls=True)]
    return tuple(way for way in ways if way is not None)


def _way(route: Route | None, *, polls: bool = False, patience_s: float = math.inf) -> Continuation | None:
    if route is None:
        return None
    asked = replace(route, without=_BODY_HEADERS)
    return Continuation(RESUME, b"", exact=True, route=asked, native=True, polls=polls, patience_s=patience_s)


def _base(path: str) -> str:
    """What a proxy has put in front of the server's own paths."""
    return path.partition("/v1/")[0] if "/v1/" in path else ""
