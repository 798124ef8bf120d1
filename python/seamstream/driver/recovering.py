"""After a setback: decide, and pay for the next request with budget, a slot of the target, and time."""

from __future__ import annotations

from collections.abc import Generator

from ..effects import Close, Effect, Result, Wait
from ..errors import BUDGET_EXHAUSTED, TARGET_BUDGET_EMPTY
from ..recovery.retry_budget import SLOT_POLL_S, SLOT_WAIT_S
from .closing import close_whole, end_degraded, give_up, tell_failure
from .deciding import Ask, GiveUp, Request, Setback, Whole
from .exceptions import FRAME_TOO_LARGE
from .parts import Parts, Steps


def recover(run: Parts, setback: Setback, last: Request) -> Generator[Effect, Result, Request | None]:
    """Decide, and pay for the next request. None: the run is over."""
    run.release_slot()
    if run.history.streaming:
        yield from _end_stream(run, setback)
        yield Close()
    elif not run.history.streamed and _is_none_of_ours(run, setback):
        run.history.discard()
    if run.guard.degraded is not None and run.history.streaming:
        yield from end_degraded(run, setback)
        return None
    now = run.clock.monotonic()
    produced = run.history.produced_tokens(run.core_facts().usages)
    step = run.decider.next_step(setback, run.snapshot, last, produced_tokens=produced, now=now)
    if setback.too_large:
        step = GiveUp(FRAME_TOO_LARGE, "an event is too large")
    if isinstance(step, Whole):
        yield from close_whole(run, setback, step)
        return None
    tell_failure(run, setback, step)
    if isinstance(step, Ask):
        yield Close()
        step = (yield from _pay(run, step)) or step
    if isinstance(step, GiveUp):
        yield from give_up(run, setback, step)
        return None
    plan = step.request.plan.value if step.request.plan else None
    run.history.budgeted(plan=plan, strategy=step.request.strategy)
    run.intake.events.cut = (str(run.cut.cause) if run.cut else "", plan or "")
    return step.request


def _is_none_of_ours(run: Parts, setback: Setback) -> bool:
    """No stream was asked for, or the request will be sent to another address."""
    redirected = setback.opened is not None and 300 <= setback.opened.status < 400
    return redirected or not run.spec.wants_stream


def _end_stream(run: Parts, setback: Setback) -> Steps:
    """The attempt's stream is over: take what is whole of its tail, and remember where the turn stands."""
    now = run.clock.monotonic()
    if run.spec.body is not None and run.guard.splice is not None:
        choices = run.decider.facts.choices
        run.guard.ask(lambda splice: splice.expect_choices(choices), None)
    data = run.guard.act(lambda splice: splice.cut(), ends_attempt=True)
    yield from run.give(data)
    run.note_content()
    if setback.seam_refusal is None:
        run.cut = setback
        run.target.cut(now, inferred=setback.cause is not None and setback.cause.inferred)
    run.timers.reconnecting = True
    run.timers.hold = None
    if run.spec.checkpoint_key is not None:
        yield from run.put_checkpoint()


def _pay(run: Parts, step: Ask) -> Generator[Effect, Result, GiveUp | None]:
    """Wait for a slot and for the back-off. A refusal when recovery may not take that long."""
    now = run.clock.monotonic()
    budget = run.decider.budget
    if step.free:
        return None
    if step.wait_s > budget.remaining_s(now):
        return GiveUp(BUDGET_EXHAUSTED, f"the next attempt would have to wait {step.wait_s:g} s")
    run.timers.give_up_at = now + budget.remaining_s(now)
    if not (yield from _take_slot(run)):
        return GiveUp(TARGET_BUDGET_EMPTY, f"no slot for a recovery of this target within {SLOT_WAIT_S:g} s")
    yield from _wait(run, step.wait_s, "back-off")
    budget.spend()
    return None


def _take_slot(run: Parts) -> Generator[Effect, Result, bool]:
    until = run.clock.monotonic() + SLOT_WAIT_S
    while not run.take_slot():
        if run.clock.monotonic() >= until:
            return False
        yield from _wait(run, SLOT_POLL_S, "target budget")
    return True


def _wait(run: Parts, seconds: float, reason: str) -> Steps:
    until = run.clock.monotonic() + seconds
    while (now := run.clock.monotonic()) < until:
        if now >= run.timers.keepalive_at() and (emit := run.intake.keepalive(now)) is not None:
            yield emit
        yield Wait(max(0.0, min(until, run.timers.keepalive_at()) - now), reason)
