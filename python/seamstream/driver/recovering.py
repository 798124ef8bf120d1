"""After a setback: decide, and pay for the next request with budget, a slot of the target, and time."""

from __future__ import annotations

from collections.abc import Generator
from typing import Final

from ..effects import Close, Effect, Result
from ..errors import BUDGET_EXHAUSTED, TARGET_BUDGET_EMPTY
from ..recovery.breaker import MAX_OPEN_S
from ..recovery.error_codes import FailureKind
from ..recovery.retry_budget import SLOT_POLL_S, SLOT_WAIT_S
from ..recovery.targets import Place
from .attempting import with_last_words
from .closing import close_whole, end_degraded, give_up, tell_failure
from .exceptions import FRAME_TOO_LARGE
from .parts import Parts
from .requests import Ask, GiveUp, Request, Setback, Whole
from .targets import cannot_serve
from .waiting import wait

_NO_ROOM: Final = {
    "target budget": f"no slot for a recovery of this target within {SLOT_WAIT_S:g} s",
    "breaker": "the target has failed many requests and is left alone",
}


def recover(run: Parts, setback: Setback, last: Request) -> Generator[Effect, Result, Request | None]:
    """Decide, and pay for the next request. None: the run is over."""
    now = run.clock.monotonic()
    _note_health(run, setback, now)
    run.targets.attempt_over()
    if run.history.streaming:
        setback = yield from _end_stream(run, setback)
        yield Close()
    elif not run.history.streamed and _is_none_of_ours(run, setback):
        run.history.discard()
    if run.guard.degraded is not None and run.history.streaming:
        yield from end_degraded(run, setback)
        return None
    if setback.failure is not None and setback.failure.kind is FailureKind.AUTH and last.plan is not None:
        run.decider.budget.refund()
    produced = run.history.streamed.produced_tokens(run.core_facts().usages)
    step = run.decider.next_step(setback, run.snapshot, last, produced_tokens=produced, now=now)
    if setback.too_large:
        step = GiveUp(FRAME_TOO_LARGE, "an event is too large")
    if isinstance(step, Whole):
        if not run.history.streaming:  # nothing came of taking the response up, but it is whole without that
            tell_failure(run, setback, step)
        yield from close_whole(run, setback, step)
        return None
    tell_failure(run, setback, step)
    if isinstance(step, Ask):
        yield Close()
        request = yield from _pay(run, step)
    else:
        request = step
    if isinstance(request, Whole):  # another target's way of asking leaves nothing to ask for
        yield from close_whole(run, setback, request)
        return None
    if isinstance(request, GiveUp):
        yield from give_up(run, setback, request)
        return None
    plan = request.plan.value if request.plan else None
    run.history.budgeted(plan=plan, strategy=request.strategy)
    run.intake.events.cut = (str(run.cut.cause) if run.cut else "", plan or "")
    run.targets.move_to(request.place or run.targets.place, run.clock.monotonic())
    return request


def _note_health(run: Parts, setback: Setback, now: float) -> None:
    """What the attempt says about its target's health: nothing, once content has come."""
    if setback.refused is not None or setback.seam_refusal is not None or setback.disconnected:
        return
    failure = setback.failure
    if setback.opened is not None and not cannot_serve(failure):
        run.targets.answered(now)
    elif (run.intake.awaits_content or not run.history.streaming) and (
        failure is None or cannot_serve(failure)
    ):
        run.targets.failed(now)


def _is_none_of_ours(run: Parts, setback: Setback) -> bool:
    """No stream was asked for, or the request will be sent to another address."""
    redirected = setback.opened is not None and 300 <= setback.opened.status < 400
    return redirected or not run.spec.wants_stream


def _end_stream(run: Parts, setback: Setback) -> Generator[Effect, Result, Setback]:
    """The attempt's stream is over: take what is whole of its tail, and remember where the turn stands."""
    now = run.clock.monotonic()
    if run.spec.body is not None and run.guard.splice is not None:
        choices = run.decider.asking.facts.choices
        run.guard.ask(lambda splice: splice.expect_choices(choices), None)
    data = run.guard.act(lambda splice: splice.cut(), ends_attempt=True)
    yield from run.give(data)
    setback = with_last_words(run, setback)
    run.note_content()
    if setback.seam_refusal is None:
        run.cut = setback
        run.targets.account.cut(now, inferred=setback.cause is not None and setback.cause.inferred)
    run.timers.reconnecting = True
    run.timers.hold = None
    if run.spec.checkpoint_key is not None:
        yield from run.put_checkpoint()
    return setback


def _pay(run: Parts, step: Ask) -> Generator[Effect, Result, Request | Whole | GiveUp]:
    """Wait for the back-off, and for room at a target. A refusal when recovery may not take that long."""
    now = run.clock.monotonic()
    budget = run.decider.budget
    if step.free:
        return step.request
    if step.wait_s > budget.remaining_s(now):
        return GiveUp(BUDGET_EXHAUSTED, f"the next attempt would have to wait {step.wait_s:g} s")
    run.timers.give_up_at = now + budget.remaining_s(now)
    yield from wait(run, step.wait_s, "back-off")
    place = yield from _find_room(run, step)
    if isinstance(place, GiveUp):
        return place
    budget.spend()
    return step.request if place == step.places[0] else step.at(place)


def _find_room(run: Parts, step: Ask) -> Generator[Effect, Result, Place | GiveUp]:
    """A slot at the first target that has one and whose breaker lets an attempt through. A breaker may be
    waited for as long as this run's own limit and the breaker's allow, a slot not that long.
    """
    since = run.clock.monotonic()
    until = {"breaker": min(since + MAX_OPEN_S, run.timers.give_up_at), "target budget": since + SLOT_WAIT_S}
    home = run.targets.place if step.places[0] == run.targets.place else None
    while True:
        now = run.clock.monotonic()
        for place in step.places:
            if run.targets.enter(place, now, waits_for=home):
                return place
        lacks = "target budget" if any(run.targets.passes(place, now) for place in step.places) else "breaker"
        if now >= until[lacks]:
            return GiveUp(TARGET_BUDGET_EMPTY, _NO_ROOM[lacks])
        yield from wait(run, SLOT_POLL_S, lacks)
