"""The verdict on a scene, from turns made by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from seamstream.cli.demo_judge import judge
from seamstream.cli.demo_scenes import LIGHTHOUSE, Scene
from seamstream.errors import BUDGET_EXHAUSTED, SEAM_REFUSED, StreamCutError
from seamstream.testing import Exchange, ReadTurn, read_turn, render

SCENE = Scene("test", "openai-chat", LIGHTHOUSE, ())
EVENTS = render("openai-chat", LIGHTHOUSE)
WHOLE = read_turn("openai-chat", b"".join(EVENTS))
PART = read_turn("openai-chat", b"".join(EVENTS[:9]))
REFUSAL = StreamCutError("no", code=SEAM_REFUSED)


def request() -> Exchange:
    exchange = Exchange(1, 1, "/v1/chat/completions", {}, b"", {}, "openai-chat")
    exchange.sent += b"".join(EVENTS[:9])
    return exchange


def faults(due: str, got: ReadTurn, error: Exception | None = None) -> tuple[str, ...]:
    scene = replace(SCENE, due=due)  # type: ignore[arg-type]
    return judge(scene, WHOLE, got, error, [request()]).faults


def test_the_same_answer_is_kept() -> None:
    assert faults("whole", WHOLE) == ()


@pytest.mark.parametrize(
    ("got", "error", "words"),
    [
        (PART, None, "text"),
        (replace(WHOLE, response_ids={"a", "b"}), None, "2 response ids"),
        (WHOLE, REFUSAL, "an error"),
    ],
)
def test_another_answer_is_not(got: ReadTurn, error: Exception | None, words: str) -> None:
    assert any(words in fault for fault in faults("whole", got, error))


def test_an_honest_refusal_keeps_what_came_and_says_why() -> None:
    assert faults("refusal", PART, REFUSAL) == ()


@pytest.mark.parametrize(
    ("got", "error", "words"),
    [
        (PART, None, "no StreamCutError"),
        (PART, StreamCutError("no", code=BUDGET_EXHAUSTED), "code is budget_exhausted"),
        (replace(PART, ended=True), REFUSAL, "as if it were whole"),
        (replace(PART, text=PART.text + "Zzz"), REFUSAL, "not of this answer"),
        (replace(PART, text=PART.text[:-1]), REFUSAL, "not shown to its end"),
    ],
)
def test_other_refusals_are_not(got: ReadTurn, error: Exception | None, words: str) -> None:
    assert any(words in fault for fault in faults("refusal", got, error))
