"""How a run ends: whole, by itself or closed by us, or with an error after everything that was received."""

from __future__ import annotations

from typing import Final

from ..effects import FINISH, Close, Effect, Fail, Forget, Relay
from ..errors import ATTEMPT_REFUSED, RECOVERY_OFF, SEAM_REFUSED
from ..types import Plan
from .exceptions import cut_error, frame_error, http_failure
from .parts import Parts, Steps
from .requests import Ask, GiveUp, Setback, Whole

LENGTH: Final = "length"
"""Named as what salvaged a turn whose token limit leaves nothing to ask for."""


def close_whole(run: Parts, setback: Setback, step: Whole) -> Steps:
    """R0, R2, or the length limit: no request, no budget."""
    run.history.hints = step.hints
    if step.plan is Plan.COMPLETE:
        data = run.guard.act(lambda splice: splice.finish())
    elif step.plan is Plan.SYNTHESIZE_TOOL_USE:
        data = run.guard.act(lambda splice: splice.synthesize_tool_use())
    else:
        data = run.guard.act(lambda splice: splice.finish_length())
    salvaged = step.plan.value if step.plan else LENGTH
    cause = str(setback.cause) if setback.cause else None
    yield from succeed(run, data, salvaged=salvaged, cause=cause, reuse=False)


def succeed(run: Parts, data: bytes, *, salvaged: str | None, reuse: bool, cause: str | None = None) -> Steps:
    yield from run.give(data)
    run.note_content()
    run.note_response()
    degraded = run.guard.degraded
    run.turn = run.history.succeeded(
        run.snapshot, run.core_facts(), degraded=degraded, salvaged=salvaged, cause=cause
    )
    if run.spec.reader == "typed":
        yield FINISH
        yield Close(reuse=reuse)
        return
    if run.spec.checkpoint_key is not None:
        yield Forget()  # a typed reader says itself when the turn is safe with it
    yield Close(reuse=reuse)  # first, so that the reader's next request finds the connection
    yield FINISH


def pass_unread(run: Parts, why: str) -> Steps:
    """The answer is a stream that cannot be read here: the reader gets it as it is."""
    run.guard.degraded = why
    run.history.began_streaming(restart=False, text_before=0)
    run.turn = run.history.succeeded(None, run.core_facts(), degraded=why, salvaged=None)
    yield Relay()


def end_degraded(run: Parts, setback: Setback) -> Steps:
    """Recovery is off for this run: it ends as it would without us, if that is still possible."""
    step = GiveUp(RECOVERY_OFF, f"recovery is off for this run ({run.guard.degraded})")
    if run.spec.reader == "typed" or len(run.history.streamed) > 1:
        tell_failure(run, setback, step)
        yield from give_up(run, setback, step)
    elif setback.error is None:
        yield from succeed(run, b"", salvaged=None, reuse=False)
    else:
        tell_failure(run, setback, step)
        run.record_end(step)
        yield Fail(setback.error)


def give_up(run: Parts, setback: Setback, step: GiveUp) -> Steps:
    turn = run.record_end(step)
    if not run.history.streamed and setback.refused is None:
        yield _without_stream(run, setback)
        return
    yield Close()
    data = run.guard.act(lambda splice: splice.fail())
    yield from run.give(data)
    if setback.too_large and run.snapshot is not None:
        yield Fail(frame_error(run.spec, run.snapshot))
    elif run.spec.reader == "bytes" and _ended_with_their_error(run, data):
        yield FINISH
    else:
        error = cut_error(
            run.spec, cut=run.cut, last=setback, step=step, attempt=run.history.attempt,
            snapshot=run.snapshot, turn=turn,
        )  # fmt: skip
        yield Fail(error)


def _ended_with_their_error(run: Parts, data: bytes) -> bool:
    """The provider's own error event was the last thing that left, so the reader knows."""
    error = run.snapshot.error if run.snapshot is not None else None
    return error is not None and error.raw != b"" and data.endswith(error.raw)


def _without_stream(run: Parts, setback: Setback) -> Effect:
    """No stream ever began: the reader gets what the provider or the transport said last."""
    opened = setback.opened
    if opened is None:
        return Fail(setback.error or run.spec.timeout_error("no answer"))
    strays = run.targets.place.fallback is not None and 300 <= opened.status < 400
    if (
        run.spec.reader == "typed" or strays
    ):  # the caller's client would follow, with the caller's credentials
        ids = run.history.request_ids
        return Fail(http_failure(opened, setback.failure, ids[-1] if ids else None))
    ours = run.spec.mode == "recover" and run.spec.wants_stream
    return Relay(stop_retrying=ours and opened.status >= 400)


def tell_failure(run: Parts, setback: Setback, step: Ask | GiveUp | Whole) -> None:
    """The record of an attempt that failed, with what will be done about it."""
    cause = None if setback.seam_refusal is not None or setback.cause is None else str(setback.cause)
    plan = step.request.plan.value if isinstance(step, Ask) and step.request.plan else None
    error = SEAM_REFUSED if setback.seam_refusal is not None else None
    if setback.refused is not None:
        error = ATTEMPT_REFUSED
    elif setback.cause is None and setback.failure is not None:
        error = setback.failure.kind.value
    run.history.failed(cause=cause, plan=plan, error=error)
