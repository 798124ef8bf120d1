"""The last way to a response that its server keeps: ask for it as a whole until it is over, and take what was
not read of it as if it had been streamed.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from typing import Any, Final

import orjson

from .._core import Splice
from ..effects import Broke, Close, Effect, Opened, OpenFailed, Result
from ..recovery.causes import BodyEnd, cause_of_end
from .parts import Parts
from .requests import Setback
from .rest import Known, Misfit
from .rest_of_interaction import rest_of_interaction
from .rest_of_response import rest_of_response
from .timers import NEVER
from .unopened import unopened
from .waiting import wait

POLL_S: Final = 2.0
_UNDER_WAY: Final = ("queued", "in_progress")
Ask = Callable[[], Generator[Effect, Result, Opened | OpenFailed]]


def poll(run: Parts, opened: Opened, ask: Ask) -> Generator[Effect, Result, bytes | Setback]:
    """The rest of the stream, once the response is over. It is waited for as long as a silent stream is."""
    answer: Opened | OpenFailed = opened
    until = run.clock.monotonic() + run.spec.policy.quiet_s
    while isinstance(answer, Opened) and is_answer(answer):
        document = _document(answer.body)
        if document is None:
            return Setback(cause_of_end(BodyEnd.SHORT))
        if document.get("status") not in _UNDER_WAY:
            return _rest(run, document)
        if run.clock.monotonic() >= until:
            return Setback(cause_of_end(BodyEnd.STALLED))
        run.timers.give_up_at = NEVER  # the run is with its provider again, which is only not ready yet
        yield Close(reuse=True)
        yield from wait(run, POLL_S, "poll")
        run.timers.restart(run.clock.monotonic())
        answer = yield from ask()
    return unopened(run, answer)


def is_answer(opened: Opened) -> bool:
    """Did the server say how the response stands?"""
    return 200 <= opened.status < 300


def _document(body: bytes) -> dict[str, Any] | None:
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    return document if isinstance(document, dict) else None


def _rest(run: Parts, document: Mapping[str, Any]) -> bytes | Setback:
    known = run.guard.ask(_known, None)
    if known is None:
        return Setback(None, seam_refusal="nobody knows what was read")
    write = rest_of_response if run.spec.dialect == "openai-responses" else rest_of_interaction
    try:
        return b"".join(write(document, known))
    except (Misfit, KeyError, TypeError, ValueError) as error:
        return Setback(None, seam_refusal=f"not the same response: {error}")


def _known(splice: Splice) -> Known | None:
    point, place = splice.snapshot()["resume_point"], splice.last_place()
    if point is None or place is None:
        return None
    parts = splice.read_parts()
    texts = {where: text for where, text, _ in parts}
    return Known(point[1], place, texts, {where: signature for where, _, signature in parts})


def ended() -> Broke:
    """Behind the rest there is nothing more to come."""
    return Broke(BodyEnd.CLEAN)
