"""One attempt of a run: send its request and take its stream, until it is whole or something is wrong."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from typing import Final

from .._core import Splice
from ..effects import READ, TIMED_OUT, Broke, Close, Effect, Open, Opened, OpenFailed, Result, StillOpening
from ..recovery.causes import BodyEnd, cause_of_end, cause_of_error
from ..recovery.classify import classify_in_band
from ..recovery.prepare import Preparation
from ..types import InBandError, MalformedFrame, Plan
from .closing import pass_unread, succeed
from .exceptions import FRAME_TOO_LARGE, MALFORMED_FRAME
from .guard import DEGRADED, MUST_END, SEAM_REFUSED, WHOLE
from .parts import Parts, Steps
from .polling import ended, is_answer, poll
from .requests import Request, Setback
from .timers import NEVER, Due
from .unopened import unopened

_STOP_IS_PROOF: Final = frozenset({"bedrock", "openai-chat", "gemini"})
"""Dialects whose stop reasons prove the answer complete; elsewhere only the end event does."""

_NOT_WHOLE: Final = MUST_END | DEGRADED | SEAM_REFUSED


def attempt(run: Parts, request: Request) -> Generator[Effect, Result, Setback | None]:
    """Open and read. None: the turn is whole and the reader has it."""
    now, plan = run.clock.monotonic(), request.plan.value if request.plan else None
    run.timers.restart(now)
    run.history.requested(request.number, plan=plan, strategy=request.strategy, target=run.targets.place.name)
    run.targets.admit(now)
    opened = yield from _open(run, request)
    if isinstance(opened, OpenFailed):
        return unopened(run, opened)
    run.history.answered(opened.status, opened.headers)
    run.profiles.learn_server(host=run.targets.place.host, dialect=run.spec.dialect, headers=opened.headers)
    how = request.continuation
    if how is not None and how.polls and is_answer(opened):
        return (yield from _take_rest(run, request, opened))
    if opened.unreadable is not None and run.spec.reader == "bytes" and not run.history.streamed:
        yield from pass_unread(run, opened.unreadable)
        return None
    if not opened.stream:
        return unopened(run, opened)
    yield from _begin(run, request)
    return (yield from _stream(run))


def _take_rest(run: Parts, request: Request, opened: Opened) -> Generator[Effect, Result, Setback | None]:
    rest = yield from poll(run, opened, lambda: _open(run, request))
    if isinstance(rest, Setback):
        return rest
    yield from _begin(run, request)
    yield from run.give(run.intake.receive(rest))
    run.intake.attention = False
    if run.intake.flags & WHOLE:
        yield from succeed(run, b"", salvaged=None, reuse=True)
        return None
    return setback_of(run, run.intake.flags, ended())


def _open(run: Parts, request: Request) -> Generator[Effect, Result, Opened | OpenFailed]:
    result = yield _effect(run, request)
    while not isinstance(result, Opened | OpenFailed):
        now = run.clock.monotonic()
        due = run.timers.due(now, "start")
        if due in (Due.STALL, Due.GIVE_UP):
            yield Close()
            waited = f"{now - run.timers.progress_at:g} s"
            return OpenFailed(run.spec.timeout_error(f"no answer within {waited}"))
        yield from minor(run, due, now)
        result = yield StillOpening()
    return result


def _effect(run: Parts, request: Request) -> Open:
    headers, how = _headers(run, request.number), request.continuation
    wanted = run.spec.policy.max_turn_bytes if how is not None and how.polls else 0
    effect = Open(request.number, request.body, headers, request.route, document_bytes=wanted)
    hook = run.spec.policy.prepare_attempt
    if hook is None or run.spec.mode != "recover":
        return effect
    produced = run.history.streamed.produced_tokens(run.core_facts().usages)
    attempt = run.decider.asking.describe(request, headers, produced)
    preparation = Preparation(hook, attempt, run.spec.policy.prepare_s)
    return replace(effect, preparation=preparation)


def _headers(run: Parts, attempt: int) -> dict[str, str]:
    """Attempt 1 goes as its caller wrote it; later ones must not be taken for a repetition of it."""
    if attempt == 1 or run.spec.idempotency is None:
        return {}
    name, value = run.spec.idempotency
    return {name: f"{value}-a{attempt}"}


def _begin(run: Parts, request: Request) -> Steps:
    restart = request.plan is Plan.WHOLE_RESTART
    continues = request.continuation is not None and run.snapshot is not None
    how = request.continuation
    run.history.began_streaming(
        restart=restart,
        text_before=len(run.snapshot.text) if continues and run.snapshot else 0,
        resumes=how is not None and how.native,
        model=run.decider.asking.model_here(),
    )
    run.intake.events.models = run.history.streamed.model_change()
    run.timers.restart(run.clock.monotonic(), patience_s=NEVER if how is None else how.patience_s)
    run.intake.awaits_content = True
    run.intake.events.start(request.number)
    if request.plan is None:
        yield from run.give(b"")
        return
    plan = request.plan.value
    if how is not None and how.native:
        data = run.guard.act(lambda splice: splice.resume("native"))
    elif how is None:
        data = run.guard.act(lambda splice: splice.resume("R4", reason=run.intake.events.cut[0]))
    else:
        data = run.guard.act(
            lambda splice: splice.resume(
                plan,  # type: ignore[arg-type]
                exact=how.exact,
                quote=how.quote,
                stripped=how.stripped,
                strict=run.spec.policy.seam == "strict",
                stop=list(how.stop),
            )
        )
    left_unsigned: list[str] = run.guard.ask(Splice.unsigned_thinking, [])
    for thinking in left_unsigned:
        run.unsigned.remember(thinking)
    yield from run.give(data)


def _stream(run: Parts) -> Generator[Effect, Result, Setback | None]:
    while True:
        result = yield READ
        run.intake.attention = False
        yield from run.give(b"")
        setback = (yield from _timer(run)) if result is TIMED_OUT else None
        flags = run.intake.flags
        if flags & WHOLE:
            yield from succeed(run, b"", salvaged=None, reuse=not isinstance(result, Broke))
            return None
        if setback is None and isinstance(result, Broke) and (yield from _ended_whole(run, result)):
            return None
        setback = setback or setback_of(run, flags, result)
        if setback is not None:
            return setback


def _ended_whole(run: Parts, end: Broke) -> Generator[Effect, Result, bool]:
    """A clean end after the proof is no cut, though some providers leave out the end event."""
    if run.spec.dialect not in _STOP_IS_PROOF or end.end is not BodyEnd.CLEAN:
        return False
    if run.guard.splice is None or run.intake.flags & _NOT_WHOLE:
        return False
    data = run.guard.act(lambda splice: splice.cut(), ends_attempt=True)
    yield from run.give(data)
    if not run.guard.ask(lambda splice: splice.terminal_seen, False):
        return False
    yield from succeed(run, run.guard.act(lambda splice: splice.finish()), salvaged=None, reuse=True)
    return True


def _timer(run: Parts) -> Generator[Effect, Result, Setback | None]:
    now = run.clock.monotonic()
    due = run.timers.due(now, run.intake.phase)
    if due in (Due.STALL, Due.GIVE_UP):
        return Setback(cause_of_end(BodyEnd.STALLED))
    if due is Due.HOLD:
        data = run.guard.act(lambda splice: splice.expire())
        run.intake.settle_hold(now)
        yield from run.give(data)
    yield from minor(run, due, now)
    return None


def minor(run: Parts, due: Due | None, now: float) -> Steps:
    """What is due and changes nothing about the attempt."""
    if due is Due.KEEPALIVE and (emit := run.intake.keepalive(now)) is not None:
        yield emit
    elif due is Due.CHECKPOINT:
        yield from run.put_checkpoint()
    elif due is Due.WARN:
        warn(run)


def warn(run: Parts) -> None:
    """Tell of a silence."""
    run.timers.warned()
    run.history.notice("stall_warning", f"no progress for {run.spec.policy.stall_warn_s:g} s")


def setback_of(run: Parts, flags: int, result: Result) -> Setback | None:
    if flags & DEGRADED:
        _note_degraded(run)
    if flags & MUST_END:
        return _in_band(run)
    if flags & SEAM_REFUSED:
        why = run.guard.ask(lambda splice: splice.seam_refusal, None)
        return Setback(run.cut.cause if run.cut else None, seam_refusal=why or "the seam does not fit")
    if isinstance(result, Broke):
        return Setback(cause_of_end(result.end), error=result.error)
    verbatim_is_possible = run.spec.reader == "bytes" and len(run.history.streamed) == 1
    return Setback(MalformedFrame()) if flags & DEGRADED and not verbatim_is_possible else None


def with_last_words(run: Parts, setback: Setback) -> Setback:
    """After the cut: an error in an event that the body's end left without its blank line is the reason."""
    told = run.guard.ask(lambda splice: splice.error, None)
    return setback if told is None or setback.failure is not None else _in_band(run)


def _in_band(run: Parts) -> Setback:
    told = run.guard.ask(lambda splice: splice.error, None)
    error = InBandError(*told) if told is not None else InBandError("error", "", None, "", b"")
    if error.type == MALFORMED_FRAME:
        return Setback(MalformedFrame())
    if error.type == FRAME_TOO_LARGE:
        return Setback(MalformedFrame(), too_large=True)
    return Setback(cause_of_error(error), classify_in_band(error, now=run.clock.wall()))


def _note_degraded(run: Parts) -> None:
    if run.guard.degraded is None:
        run.guard.degraded = run.guard.ask(lambda splice: splice.degraded, None) or "a limit was passed"
    run.timers.stop()
