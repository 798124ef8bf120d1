"""Runs the user's hook before an attempt is sent. Whatever it does but answer is a refusal, so that a broken
hook ends one run with an error that names it, and no request leaves that it has not seen.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable
from dataclasses import replace

from .clock import Clock
from .effects import Open, OpenFailed
from .errors import AttemptRefusedError
from .interrupter import Interrupter
from .recovery.continuation.route import Route
from .recovery.prepare import AttemptRefusal, AttemptRequest, Preparation


async def prepared(effect: Open, clock: Clock) -> Open | OpenFailed:
    """The attempt as the hook wants it, within the hook's time limit."""
    preparation = effect.preparation
    if preparation is None:
        return effect
    try:
        answer: object = preparation.hook(preparation.attempt)
        if inspect.isawaitable(answer):
            answer = await _within_limit(answer, preparation, clock)
    except Exception as error:
        return _refused(f"prepare_attempt raised {type(error).__name__}", error)
    return _applied(effect, answer)


def prepared_at_once(effect: Open) -> Open | OpenFailed:
    """The same for a reader without an event loop; nothing can interrupt the hook there."""
    preparation = effect.preparation
    if preparation is None:
        return effect
    try:
        answer: object = preparation.hook(preparation.attempt)
    except Exception as error:
        return _refused(f"prepare_attempt raised {type(error).__name__}", error)
    if inspect.isawaitable(answer):
        if inspect.iscoroutine(answer):
            answer.close()
        return _refused("prepare_attempt returned an awaitable, but this transport is synchronous")
    return _applied(effect, answer)


async def _within_limit(answer: Awaitable[object], preparation: Preparation, clock: Clock) -> object:
    interrupter = Interrupter[tuple[object]]()
    timer = clock.call_later(preparation.limit_s, interrupter.fire)
    try:
        got = await interrupter.wait(_boxed(answer))
    finally:
        timer.cancel()
    if got is None:
        return AttemptRefusal(f"prepare_attempt took longer than {preparation.limit_s:g} s")
    return got[0]


async def _boxed(answer: Awaitable[object]) -> tuple[object]:
    """Tells an answer of None from no answer."""
    return (await answer,)


def _applied(effect: Open, answer: object) -> Open | OpenFailed:
    if answer is None:
        return effect
    if isinstance(answer, AttemptRefusal):
        return _refused(answer.reason)
    if not isinstance(answer, AttemptRequest):
        return _refused(f"prepare_attempt returned {type(answer).__name__}, not a request, a refusal or None")
    route = effect.route
    if answer.url is not None:
        route = replace(route or Route(), url=answer.url, origin=None, path=None, query=())
    body = effect.body if answer.body is None else answer.body
    return replace(effect, body=body, headers={**effect.headers, **answer.headers}, route=route)


def _refused(reason: str, error: Exception | None = None) -> OpenFailed:
    refusal = AttemptRefusedError(reason)
    refusal.__cause__ = error
    return OpenFailed(refusal, retryable=False, refused=reason)
