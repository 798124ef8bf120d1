"""Whatever the core does wrong, a healthy stream arrives verbatim, and recovery is off for that run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from seamstream import RecoveryPolicy
from seamstream._core import Splice
from seamstream.driver import parts
from seamstream.driver.guard import make_splice
from seamstream.testing import (
    Answer,
    DeterministicModel,
    Dialect,
    Reasoning,
    Text,
    Tool,
    differences,
    read_turn,
    tokens,
)
from tests.driver.playing import HEALTHY, RESET, Reply, Stage, cut

DIALECTS: tuple[Dialect, ...] = ("openai-chat", "anthropic")
RICH = DeterministicModel(
    Answer(
        (
            Reasoning(tokens("First I think about it.")),
            Text(tokens("Then I say so — 水 🐠.")),
            Tool("look", ('{"where":', '"no', 'rth"}')),
            Tool("look", ("{}",)),
        )
    )
)


class BrokenCoreError(Exception):
    """What a bug in the core looks like from Python."""


class Panic(BaseException):
    """Stands for a panic, which is no Exception."""


Panic.__name__ = "PanicException"


class Breaking:
    """A splice whose uses of `name` fail: the `nth` one only, or all from it on."""

    def __init__(self, splice: Splice, name: str, nth: int, error: BaseException, *, for_good: bool) -> None:
        self._splice, self._name, self._nth = splice, name, nth
        self._error, self._for_good = error, for_good
        self.uses: Counter[str] = Counter()

    def __getattr__(self, name: str) -> Any:
        self.uses[name] += 1
        count = self.uses[name]
        if name == self._name and (count == self._nth or (self._for_good and count > self._nth)):
            raise self._error
        return getattr(self._splice, name)


@pytest.fixture
def break_core(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[Breaking]]:
    def install(name: str, nth: int, error: BaseException, *, for_good: bool = False) -> list[Breaking]:
        made: list[Breaking] = []

        def make(*arguments: Any, **named: Any) -> Any:
            made.append(Breaking(make_splice(*arguments, **named), name, nth, error, for_good=for_good))
            return made[-1]

        monkeypatch.setattr(parts, "make_splice", make)
        return made

    return install


def _uses(dialect: Dialect) -> Counter[str]:
    """Everything that a healthy run uses of the core, and how often."""
    made: list[Breaking] = []
    original = parts.make_splice
    parts.make_splice = lambda *a, **n: (
        made.append(  # type: ignore[assignment,return-value]
            Breaking(make_splice(*a, **n), "", 0, BrokenCoreError(), for_good=False)
        )
        or made[-1]
    )
    try:
        Stage(dialect, model=RICH).play(HEALTHY)
    finally:
        parts.make_splice = original
    return made[0].uses


def _places() -> Iterator[tuple[Dialect, str, int]]:
    for dialect in DIALECTS:
        for name, count in sorted(_uses(dialect).items()):
            for nth in sorted({1, 2, 3, (count + 1) // 2, count - 1, count}):
                if 1 <= nth <= count:
                    yield dialect, name, nth


@pytest.mark.parametrize("for_good", [False, True])
@pytest.mark.parametrize(
    "error", [BrokenCoreError("bug"), Panic("index out of bounds")], ids=["exception", "panic"]
)
@pytest.mark.parametrize(("dialect", "name", "nth"), list(_places()))
def test_a_core_that_fails_anywhere_harms_no_healthy_stream(
    break_core: Any, dialect: Dialect, name: str, nth: int, error: BaseException, for_good: bool
) -> None:
    break_core(name, nth, error, for_good=for_good)
    stage = Stage(dialect, model=RICH)
    run = stage.play(HEALTHY)
    assert run.error is None
    assert run.data == stage.unbroken()
    assert len(run.requests) == 1


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_panic_of_the_real_core_does_no_harm_at_any_event(dialect: Dialect) -> None:
    events, degraded = len(Stage(dialect, model=RICH).events()), 0
    for nth in range(1, events):
        stage = Stage(dialect, model=RICH)
        assert stage.driver.guard.splice is not None
        stage.driver.guard.splice._panic_after(nth)
        run = stage.play(HEALTHY)
        assert run.data == stage.unbroken(), nth
        assert stage.driver.turn is not None
        degraded += "core failed" in (stage.driver.turn.outcome.degraded or "")
    assert degraded == events - 1


def test_a_core_that_cannot_be_made_does_no_harm(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> Splice:
        raise BrokenCoreError

    monkeypatch.setattr(parts, "make_splice", refuse)
    stage = Stage()
    assert stage.play(HEALTHY).data == stage.unbroken()


@pytest.mark.parametrize(
    "limit",
    [{"max_turn_bytes": 20}, {"max_json_depth": 1}, {"max_parts": 1}],
    ids=lambda limit: next(iter(limit)),
)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_passed_limit_does_no_harm(dialect: Dialect, limit: dict[str, int]) -> None:
    deep = Tool("look", ('{"where":{"deep":', '{"down":1}}}'))
    model = DeterministicModel(Answer((*RICH.answer.parts, deep)))
    stage = Stage(dialect, model=model, policy=RecoveryPolicy(**limit))  # type: ignore[arg-type]
    run = stage.play(HEALTHY)
    assert run.data == stage.unbroken()
    assert stage.driver.turn is not None
    assert stage.driver.turn.outcome.degraded


def test_a_run_without_its_core_ends_as_it_would_without_us(break_core: Any) -> None:
    break_core("feed", 4, BrokenCoreError("bug"))
    stage = Stage()
    run = stage.play(cut(8), HEALTHY)
    assert run.error is RESET.error
    assert run.data == b"".join(stage.events()[:8])
    assert len(run.requests) == 1


def test_a_run_without_its_core_is_no_stall(break_core: Any) -> None:
    """Nobody can tell pings from progress any more, so nobody may end the stream for silence."""
    break_core("feed", 2, BrokenCoreError("bug"))
    stage = Stage()

    def slowly() -> Iterator[bytes]:
        for event in stage.events():
            stage.clock.tick(3_600.0)
            yield event

    assert stage.play(Reply(chunks=slowly())).data == stage.unbroken()


@pytest.mark.parametrize("name", ["feed", "resume", "snapshot"])
def test_a_core_that_fails_after_a_cut_is_an_honest_failure(break_core: Any, name: str) -> None:
    """Nothing of the second attempt can be joined without it, and a truncated answer must not look whole."""
    break_core(name, {"feed": 11, "resume": 1, "snapshot": 1}[name], BrokenCoreError("bug"), for_good=True)
    stage = Stage()
    run = stage.play(cut(8), HEALTHY)
    assert run.error is not None
    assert stage.unbroken().startswith(run.data)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_pings_overtake_what_is_held_and_nothing_is_lost(break_core: Any, dialect: Dialect) -> None:
    """The shadow of what the core holds knows that comments leave before it."""
    stage = Stage(dialect, model=RICH)
    first, *rest = stage.events()
    ping = b'event: ping\ndata: {"type": "ping"}\n\n' if dialect == "anthropic" else b": still here\n\n"
    break_core("feed", 3, BrokenCoreError("bug"))
    stage = Stage(dialect, model=RICH)
    run = stage.play(Reply(chunks=[first, ping, *rest]))
    assert sorted(run.data.split(b"\n\n")) == sorted((first + ping + b"".join(rest)).split(b"\n\n"))
    assert differences(read_turn(dialect, stage.unbroken()), read_turn(dialect, run.data)) == []
