"""Each of the nine rows passes on a good task; each can be made to fail, and then names itself alone."""

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from seamstream.observe.provenance import Span
from seamstream.stores.memory_backend import MemoryBackend
from seamstream.tasks.audit import RecoveryDecision, as_text
from seamstream.tasks.reading import step_key
from seamstream.tasks.records import DurableStep, Fact, ToolInvocation
from tests.tasks.audited import Case, Facts, finished

Spoil = Callable[[Case], Awaitable[None] | None]
DAY_S = 86_400.0


@pytest.fixture
async def case(tmp_path: Path) -> Case:
    return await finished(MemoryBackend(), tmp_path)


def without(event: str, **named: object) -> Callable[[Facts], Facts]:
    def edit(facts: Facts) -> Facts:
        kept = [fact for fact in facts if not (fact.event == event and fits(fact, named))]
        assert len(kept) < len(facts)
        return kept

    return edit


def fits(fact: Fact, named: dict[str, object]) -> bool:
    return all(getattr(fact, name) == value for name, value in named.items())


def changed(event: str, edit: Callable[[Fact], Fact]) -> Callable[[Facts], Facts]:
    return lambda facts: [edit(fact) if fact.event == event else fact for fact in facts]


def lacking(name: str) -> Callable[[Fact], Fact]:
    return lambda fact: dataclasses.replace(
        fact, details={key: value for key, value in fact.details.items() if key != name}
    )


def moved_first(event: str, before: str) -> Callable[[Facts], Facts]:
    """The first entry of one event stands before the first of another."""

    def edit(facts: Facts) -> Facts:
        mover = next(fact for fact in facts if fact.event == event)
        rest = [fact for fact in facts if fact is not mover]
        at = next(at for at, fact in enumerate(rest) if fact.event == before)
        return [*rest[:at], mover, *rest[at:]]

    return edit


def release(**changes: object) -> Spoil:
    def spoil(case: Case) -> None:
        case.release = dataclasses.replace(case.release, **changes)  # type: ignore[arg-type]

    return spoil


def drill(name: str, **changes: object) -> Spoil:
    def spoil(case: Case) -> None:
        drills = dict(case.release.drills)
        drills[name] = dataclasses.replace(drills[name], **changes)  # type: ignore[arg-type]
        case.release = dataclasses.replace(case.release, drills=drills)

    return spoil


def ledger(edit: Callable[[Facts], Facts]) -> Spoil:
    return lambda case: case.rewrite(edit)


def twice_over_budget(facts: Facts) -> Facts:
    recovery = next(fact for fact in facts if fact.event == "recovery_started")
    return [*facts, *(dataclasses.replace(recovery, id=f"extra {number}") for number in range(8))]


def after_the_end(facts: Facts) -> Facts:
    started = next(fact for fact in facts if fact.event == "step_started")
    return [*facts, dataclasses.replace(started, event="task_aborted"), started]


def billed_twice(facts: Facts) -> Facts:
    return [*facts, next(fact for fact in reversed(facts) if fact.event == "attempt_usage")]


def started_again(facts: Facts) -> Facts:
    write = next(fact for fact in facts if fact.event == "tool_started" and fact.invocation_id == "2-1")
    return [*facts, write]


async def reversed_sources(case: Case) -> None:
    await case.spoil_step(1, lambda step: dataclasses.replace(step, sources=step.sources[::-1]))


async def other_file(case: Case) -> None:
    await case.spoil_step(
        1, lambda step: dataclasses.replace(step, files=(dataclasses.replace(step.files[0], id="x"),))
    )


async def no_output(case: Case) -> None:
    await case.spoil_step(3, lambda step: dataclasses.replace(step, structured_output=None))


async def no_step(case: Case) -> None:
    await case.store.delete("acme", step_key(case.task_id, 2))


def object_at(path: str) -> Spoil:
    """The large result's reference leads elsewhere."""

    def led_there(call: ToolInvocation) -> ToolInvocation:
        assert call.result_ref is not None
        return dataclasses.replace(call, result_ref=dataclasses.replace(call.result_ref, path=path))

    def edit(step: DurableStep) -> DurableStep:
        return dataclasses.replace(step, tool_calls=tuple(map(led_there, step.tool_calls)))

    return lambda case: case.spoil_step(1, edit)


def spans(*spans: Span) -> Spoil:
    """The last step's text is said to come from elsewhere."""

    def edit(step: DurableStep) -> DurableStep:
        assert step.turn is not None
        return dataclasses.replace(step, turn=dataclasses.replace(step.turn, provenance=spans))

    return lambda case: case.spoil_step(3, edit)


def later(case: Case) -> None:
    case.now_s += 8 * DAY_S


def locked(package: str, version: str) -> Spoil:
    def spoil(case: Case) -> None:
        versions = {**case.release.versions, package: version}
        case.release = dataclasses.replace(case.release, versions=versions)

    return spoil


def worked(version: str) -> Callable[[Fact], Fact]:
    def edit(fact: Fact) -> Fact:
        versions = {**fact.details["versions"], "seamstream": version}
        return dataclasses.replace(fact, details={**fact.details, "versions": versions})

    return edit


async def prerelease(case: Case) -> None:
    await case.rewrite(changed("worker_versions", worked("9.0.0rc1")))
    locked("seamstream", "9.0.0rc1")(case)


SPOILS: list[tuple[int, str, Spoil, str]] = [
    (1, "not set", release(recovery=None), "does not set"),
    (1, "not allowed", release(recovery=RecoveryDecision(False, 8)), "the release does not"),
    (1, "a lower limit", release(recovery=RecoveryDecision(True, 3)), "allows 8 recoveries, the release 3"),
    (1, "another policy", release(recovery=RecoveryDecision(True, 8, "0" * 32)), "not the one"),
    (1, "over the budget", ledger(twice_over_budget), "over the budget of 8"),
    (1, "a recovery that is not counted", ledger(without("recovery_started")), "counts 1 recoveries"),
    (2, "no end", ledger(without("attempt_succeeded", attempt=4)), "attempt 4 has 0 ends"),
    (2, "no error", ledger(changed("stream_failed_after_start", lacking("error"))), "without an error"),
    (2, "no digest", ledger(changed("attempt_started", lacking("request_digest"))), "what was sent"),
    (2, "characters of another attempt", spans(Span(0, 18, 3)), "not those of the success entry"),
    (2, "characters of none", spans(Span(0, 18, 9)), "where characters from 0 on came from"),
    (2, "characters left over", spans(Span(0, 9, 4)), "where characters from 9 on came from"),
    (2, "tampered", lambda case: case.tamper(7, at_s=0.0), "entry 7 was changed"),
    (2, "unreadable", lambda case: case.tamper(7, details=3), "entry 7 cannot be read"),
    (3, "a tool before its turn", ledger(moved_first("tool_started", "stream_started")), "before attempt"),
    (4, "no key", ledger(changed("tool_started", lacking("idempotency_key"))), "without an idempotency key"),
    (4, "a write twice", ledger(started_again), "started again"),
    (5, "sources in another order", reversed_sources, "out of order: [1, 0]"),
    (5, "another file", other_file, "are not what they were"),
    (5, "no output", no_output, "structured output of schema v1 is gone"),
    (5, "a step is gone", no_step, "records are there of [1, 3]"),
    (5, "an object is gone", object_at("acme/elsewhere"), "cannot be read"),
    (5, "an object of another tenant", object_at("other/task/1-1"), "not of this tenant"),
    (5, "an object that has expired", later, "has expired"),
    (6, "no drill", release(drills={}), "not in the release file (drills.cancel)"),
    (6, "the drill failed", drill("cancel", passed=False), "failed on 2026-01-01"),
    (6, "workers not covered", drill("cancel", covers=("provider", "tools", "stream")), "cover: worker"),
    (6, "work after the end", ledger(after_the_end), "follows the end"),
    (7, "no bill", ledger(without("attempt_usage", attempt=1)), "attempt 1 has neither"),
    (7, "billed twice", ledger(billed_twice), "attempt 4 was billed again"),
    (8, "nothing locked", release(versions={}), "locks no versions"),
    (8, "another version", locked("aiohttp", "0.1"), "0.1 is locked"),
    (8, "not installed", locked("surprise", "1.0"), "surprise 1.0 is locked, and did not work"),
    (8, "no provider", release(providers=()), "names no provider"),
    (8, "a pre-release", prerelease, "9.0.0rc1 is a pre-release"),
    (9, "no owner", release(drills={}), "not in the release file (drills.side_effect)"),
    (9, "the drill failed", drill("task", passed=False), "Ada is responsible"),
    (9, "no undo", release(undo={}), "does not say how book is undone"),
]
SEVERAL = {"no drill": {6, 9}, "no owner": {6, 9}}
"""Where a row cannot fall alone."""


async def test_a_good_task_passes_every_row(case: Case) -> None:
    made = await case.audit()
    assert {row.number: row.verdict for row in made.rows} == dict.fromkeys(range(1, 10), "pass"), as_text(
        made
    )
    assert made.passed
    assert [alarm.raised for alarm in made.alarms] == [False, False, None, False, False]


@pytest.mark.parametrize(
    ("number", "what", "spoil", "why"), SPOILS, ids=[f"{number} {what}" for number, what, _, _ in SPOILS]
)
async def test_a_row_that_does_not_hold_fails_by_its_name(
    case: Case, number: int, what: str, spoil: Spoil, why: str
) -> None:
    if (spoiling := spoil(case)) is not None:
        await spoiling
    made = await case.audit()
    failed = {row.number for row in made.rows if row.verdict == "fail"}
    assert failed == SEVERAL.get(what, {number}), as_text(made)
    assert any(why in note.text for note in made.rows[number - 1].notes)
    assert not made.passed
    assert f"-> {made.rows[number - 1].action}" in as_text(made)


async def test_without_a_release_file_rows_that_need_it_are_unknown(case: Case) -> None:
    case.release = None  # type: ignore[assignment]
    verdicts = await case.verdicts()
    assert {number for number, verdict in verdicts.items() if verdict == "unknown"} == {1, 6, 8, 9}
    assert not (await case.audit()).passed
