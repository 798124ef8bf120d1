"""Strategy `resume`: the server still has the stream, and gives the rest of it from an exact position on.

Only what the caller's own request allows: nothing is ever stored, run in the background or named because of
us. Nothing is asked of the model again, so neither tools nor formats nor several choices stand in the way.
"""

from __future__ import annotations

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
_BODY_HEADERS: Final = ("Content-Type", "Content-Length", "Transfer-Encoding")


class Resumption:
    """The ways of taking up the responses of one run, without those that the server has refused."""

    def __init__(self, path: str, conversation: str | None) -> None:
        """`path` is that of the caller's request, `conversation` the caller's header."""
        self._path = path
        self._conversation = conversation
        self._refused: set[tuple[str | None, tuple[str, ...]]] = set()

    def way(self, facts: RequestFacts, snapshot: Snapshot) -> Continuation | None:
        """The best way that is left."""
        ways = resume(facts, snapshot, path=self._path, conversation=self._conversation)
        return next((way for way in ways if _key(way) not in self._refused), None)

    def refused(self, tried: Continuation | None, failure: FailureClass | None, gap: str | None) -> bool:
        """Was it `tried`, and has the server nothing there? A busy one may still have it."""
        if tried is None or not tried.native:
            return False
        gone = failure is not None and (failure.status or 500) < 500 and not failure.retryable
        if gone or gap is not None:
            self._refused.add(_key(tried))
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
    routes = [form_of(facts.dialect).resumes(facts, point, path)]
    if conversation:
        query = (("conv_id", conversation), ("from", str(point.offset)))
        routes.append(Route(method="GET", path=f"{_base(path)}/v1/stream", query=query))
    return tuple(
        Continuation(RESUME, b"", exact=True, route=replace(route, without=_BODY_HEADERS), native=True)
        for route in routes
        if route is not None
    )


def _base(path: str) -> str:
    """What a proxy has put in front of the server's own paths."""
    return path.partition("/v1/")[0] if "/v1/" in path else ""
