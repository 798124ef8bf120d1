"""Decides how a reader was served: the same answer, the salvaged one, or an honest failure. Else it raises.

What must come out is worked out from the received bytes by `tests.support.cut_state` and from the unbroken
bytes by the SDKs; the planner and the core are not asked.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Literal

from seamstream.errors import StreamCutError
from tests.corpus import CorpusStream
from tests.corpus.stream import Dialect, choices_of
from tests.exhaustive.cut import Played
from tests.support.cut_state import CutState, state_of
from tests.support.grammar import assert_well_formed
from tests.support.responses_state import alike, canonical
from tests.support.turns import Answer, Reading, turn_of
from tests.support.typed_reader import fold

Verdict = Literal["whole", "salvaged", "restart", "failure"]
Reader = Callable[[Dialect, bytes], Reading]

TOOL_STOP: dict[Dialect, str] = {"openai-chat": "tool_calls", "ollama": "stop", "cohere": "TOOL_CALL"}
"""The stop reason of a salvaged turn, where the reader does not see `tool_use`."""
NORMAL = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "COMPLETE": "end_turn",
    "MAX_TOKENS": "max_tokens",
    "TOOL_CALL": "tool_use",
}
ENDS: dict[Dialect, tuple[bytes, ...]] = {
    "anthropic": (b'"type":"message_stop"',),
    "openai-responses": (b'"type":"response.completed"', b'"type":"response.incomplete"'),
    "gemini": (b'"finishReason"', b'"blockReason"'),
    "gemini-interactions": (b'"event_type":"interaction.complete',),
    "ollama": (b'"done":true',),
    "cohere": (b'"type":"message-end"',),
    "bedrock": (b'"stopReason"',),
}
"""What stands in the last event of each choice, where a line of its own is not enough to tell it."""
PLAN_VERDICT: dict[str | None, Verdict] = {
    None: "whole",  # only a last line feed was missing
    "R0": "whole",
    "R1": "whole",
    "R2": "salvaged",
    "R3": "whole",
    "R4": "restart",
}


def judge(played: Played, read: Reader = turn_of) -> Verdict:
    """The verdict; an AssertionError says what the reader got that it should not have got."""
    reading = read(played.stream.dialect, played.run.data) if played.cut.reader == "bytes" else None
    assert played.driver.turn is not None
    plan = played.driver.turn.outcome.plan
    if played.run.error is not None or (reading is not None and reading.error is not None):
        _check_failure(played, reading)
        return "failure"
    assert played.run.finished
    assert played.driver.guard.degraded is None
    expected = _expected(played, plan)
    if reading is None:
        _check_events(played, expected)
    else:
        _check_bytes(played, reading, expected)
    _check_requests(played, plan)
    return PLAN_VERDICT[plan]


def may_fail(played: Played) -> bool:
    """Honest failures are for n>1, server-side tools, structured output, and calls too long to be held."""
    return played.stream.unrecoverable is not None


def _check_requests(played: Played, plan: str | None) -> None:
    """The plan is the table's; a whole answer and complete calls need no request, others one for each cut."""
    if played.cut.second is not None or played.stream.unrecoverable is not None:
        assert len(played.run.requests) <= 3
        return
    due = _received(played).plan(choices_of(played.stream))
    assert len(played.run.requests) == (1 if due in ("R0", "R2") else 2)
    assert plan in (due, "R0", None), (plan, due)


def _received(played: Played) -> CutState:
    """What the attempt that was cut last had brought; after a restart that is all there is."""
    if played.cut.second is None or not played.replies:
        return state_of(played.stream.dialect, played.stream.data[: played.cut.offset])
    return state_of(played.stream.dialect, played.replies[0])


def _expected(played: Played, plan: str | None) -> tuple[Answer, ...]:
    """The unbroken answers; under R2 the text and the calls that were complete at the cut."""
    unbroken = turn_of(played.stream.dialect, played.stream.data).answers
    if plan != "R2":
        return unbroken
    state = _received(played)
    restarted = played.driver.turn is not None and "R4" in {a.plan for a in played.driver.turn.attempts}
    first_cut = played.cut.second is None or len(played.run.requests) == 1
    # A continuation's calls come after all of its text, so there the text is whole.
    text = state.text if first_cut or restarted else unbroken[0].text
    stop = TOOL_STOP.get(played.stream.dialect, "tool_use")
    return (Answer(text, "", state.complete_calls, stop),)


def _check_bytes(played: Played, reading: Reading, expected: tuple[Answer, ...]) -> None:
    assert reading.answers == expected, (reading.answers, expected)
    assert len(reading.ids) == 1
    assert _ends(played.stream, played.run.data) == 1
    _check_grammar(played, whole=True)


def _check_grammar(played: Played, *, whole: bool) -> None:
    """No stream is made better than its provider sent it."""
    if keeps_grammar(played.stream.dialect, played.stream.data):
        assert_well_formed(played.stream.dialect, played.run.data, whole=whole)


@cache
def keeps_grammar(dialect: Dialect, data: bytes) -> bool:
    """Is the unbroken stream itself well formed?"""
    try:
        assert_well_formed(dialect, data, whole=True)
    except AssertionError:
        return False
    return True


def _ends(stream: CorpusStream, data: bytes) -> int:
    """How many terminal events there are in it."""
    if stream.dialect in ENDS:
        found = sum(data.count(mark) for mark in ENDS[stream.dialect])
        return found // choices_of(stream) if stream.dialect == "gemini" else found
    return sum(line in (b"data: [DONE]", b"data:[DONE]") for line in data.splitlines())


def _check_events(played: Played, expected: tuple[Answer, ...]) -> None:
    folded = fold(played.run.events)
    answer, turn = expected[0], played.driver.turn
    stop = NORMAL.get(answer.stop or "", answer.stop)
    if played.stream.dialect == "ollama" and answer.calls and stop == "end_turn":
        stop = "tool_use"
    same = _of_objects if played.stream.dialect.startswith("gemini") else alike
    due = Answer(answer.text, answer.refusal, tuple(map(same, answer.calls)), stop)
    assert replace(folded, calls=tuple(map(same, folded.calls))) == due, (folded, answer)
    assert turn is not None
    calls = tuple((call.name, call.arguments) for call in turn.tool_calls)
    assert Answer(turn.text, turn.refusal, calls, turn.stop_reason) == folded
    assert [event.seq for event in played.run.events] == list(range(1, len(played.run.events) + 1))


def _of_objects(call: tuple[str, str]) -> tuple[str, str]:
    """Gemini's arguments are objects: their text is whatever their writer made of them."""
    name, arguments = call
    return name, canonical(json.loads(arguments))


def _check_failure(played: Played, reading: Reading | None) -> None:
    """Allowed, told with everything received, and never dressed up as an end."""
    assert may_fail(played), played.run.error
    turn = played.driver.turn
    assert turn is not None
    if played.run.error is not None:
        assert isinstance(played.run.error, StreamCutError)
        assert played.run.error.turn is turn
    if choices_of(played.stream) == 1 and played.cut.second is None:
        state = _received(played)
        assert (turn.text, turn.refusal) == (state.text, state.refusal)
        assert len(turn.tool_calls) == len(state.complete_calls)
    if reading is not None:
        assert any(answer.stop is None for answer in reading.answers) or not reading.answers
        assert _ends(played.stream, played.run.data) == 0
        _check_grammar(played, whole=False)
        shown = "".join(answer.text for answer in reading.answers[:1])
        assert turn_of(played.stream.dialect, played.stream.data).answer.text.startswith(shown)
