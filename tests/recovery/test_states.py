"""The run's states over the cross product of states and inputs, and the three gates."""

from __future__ import annotations

import itertools

import pytest

from seamstream.errors import IllegalTransitionError
from seamstream.recovery.states import RunInput, RunMachine, RunState, closed_gate

# The drawing of the documentation, written as lines of "from input to".
ARROWS = """
created request requesting
requesting stream streaming
requesting fail failed
streaming succeed succeeded
streaming fail failed_after_start
failed succeed succeeded
failed budget recovery_budgeted
failed give_up terminal_failed
failed_after_start succeed succeeded
failed_after_start budget recovery_budgeted
failed_after_start give_up terminal_failed
recovery_budgeted request requesting
recovery_budgeted give_up terminal_failed
"""
FINAL = {"succeeded", "terminal_failed", "aborted"}


def drawn() -> dict[tuple[str, str], str]:
    arrows = {(start, event): end for start, event, end in map(str.split, ARROWS.strip().splitlines())}
    aborts = {(state.value, "abort"): "aborted" for state in RunState if state.value not in FINAL}
    return arrows | aborts


@pytest.mark.parametrize(("state", "event"), list(itertools.product(RunState, RunInput)))
def test_every_state_takes_exactly_the_arrows_drawn(state: RunState, event: RunInput) -> None:
    machine = RunMachine(state)
    end = drawn().get((state.value, event.value))
    if end is None:
        with pytest.raises(IllegalTransitionError, match=f"{state.value}.*{event.value}"):
            machine.apply(event)
        assert machine.state is state
    else:
        assert machine.apply(event).value == end
        assert machine.state.value == end


def test_final_states_have_no_arrows() -> None:
    assert {state.value for state in RunState if state.final} == FINAL


def test_a_run_begins_created() -> None:
    assert RunMachine().state is RunState.CREATED


def test_every_state_can_be_reached() -> None:
    reached, edge = {"created"}, {"created"}
    while edge:
        edge = {end for (start, _), end in drawn().items() if start in edge} - reached
        reached |= edge
    assert reached == {state.value for state in RunState}


@pytest.mark.parametrize(
    ("budget", "recoverable", "committed"), list(itertools.product((False, True), repeat=3))
)
def test_all_three_gates_must_be_open(budget: bool, recoverable: bool, committed: bool) -> None:
    gate = closed_gate(budget_left=budget, recoverable=recoverable, side_effect_committed=committed)
    assert (gate is None) is (budget and recoverable and not committed)


def test_a_committed_side_effect_is_named_first() -> None:
    gate = closed_gate(budget_left=False, recoverable=False, side_effect_committed=True)
    assert gate is not None
    assert "side effect" in gate
