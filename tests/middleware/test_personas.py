"""What becomes of an answer when its model goes on in each of the ways in which models do.

A join is made where the reply shows where it fits, or where the provider goes on in the very turn that was
cut; anything else is an honest failure, with what was received.
"""

from __future__ import annotations

from typing import Any, get_args

import pytest

import seamstream
from seamstream.testing import Answer, DeterministicModel, Dialect, Fault, Persona, Text, read_turn, tokens
from tests.middleware.asking import QUESTION, Asker
from tests.middleware.conftest import PROSE
from tests.middleware.test_healing import AT_ONCE

CUT = Fault.reset(after_text=b"divi")
SHOWN = PROSE[: PROSE.index(" divi")]
QUESTIONS: dict[Dialect, dict[str, Any]] = {
    "openai-chat": QUESTION,
    "openai-responses": {"model": "m", "stream": True, "input": "What is a reef?"},
    "anthropic": QUESTION,
    "ollama": QUESTION,
    "cohere": QUESTION,
}
OWN_TURN: tuple[Dialect, ...] = ("anthropic", "ollama")
ASKED_BY_QUOTING: dict[Persona, str | None] = {
    "plain": "anchored",
    "prefacer": "anchored",
    "half_echoer": "anchored",
    "quoter": "anchored",
    "restarter": "anchored",
    "fencer": None,
    "paraphraser": None,
    "translator": None,
    "deviating_restarter": None,
    "refuser": None,
    "silent": None,
    "tool_caller": None,
}
PREFILLED: dict[Persona, str | None] = {
    "plain": "prefill",
    "quoter": "prefill",
    "half_echoer": "anchored",
    "restarter": "anchored",
    "prefacer": None,
    "fencer": None,
    "deviating_restarter": None,
    "refuser": None,
}
GOES_ON_DIFFERENTLY: tuple[Persona, ...] = ("paraphraser", "translator", "silent", "tool_caller")
"""In the turn that was cut, a model may say what it likes: that it is not what was due, nobody can see."""


def test_every_persona_is_tried() -> None:
    assert set(ASKED_BY_QUOTING) == set(get_args(Persona)) == {*PREFILLED, *GOES_ON_DIFFERENTLY}


async def _meets(
    asker: Asker, dialect: Dialect, persona: Persona, join: str | None, *, prefill: bool
) -> None:
    model = DeterministicModel(Answer((Text(tokens(PROSE)),)), persona, accepts_prefill=prefill)
    async with asker.scene([CUT], dialect=dialect, model=model, policy=AT_ONCE) as scene:
        if join is not None:
            assert (await scene.turn(json=QUESTIONS[dialect])).text == PROSE
            assert (scene.runs[0].kind, scene.runs[0].joins) == ("recovered", (join,))
            return
        with pytest.raises(seamstream.StreamCutError, match="not_continuable") as caught:
            await scene.read(json=QUESTIONS[dialect])
    assert caught.value.turn is not None
    assert caught.value.turn.text == SHOWN
    assert scene.runs[0].kind == "truncated"


@pytest.mark.parametrize("persona", ASKED_BY_QUOTING)
@pytest.mark.parametrize("dialect", [dialect for dialect in QUESTIONS if dialect != "ollama"])
async def test_asked_by_quoting(asker: Asker, dialect: Dialect, persona: Persona) -> None:
    await _meets(asker, dialect, persona, ASKED_BY_QUOTING[persona], prefill=False)


@pytest.mark.parametrize("persona", PREFILLED)
@pytest.mark.parametrize("dialect", OWN_TURN)
async def test_asked_in_its_own_turn(asker: Asker, dialect: Dialect, persona: Persona) -> None:
    await _meets(asker, dialect, persona, PREFILLED[persona], prefill=True)


async def test_a_template_that_closes_the_turn_without_a_word_is_noticed(asker: Asker) -> None:
    """Ollama refuses nothing: a model whose template takes no prefix begins its answer again."""
    await _meets(asker, "ollama", "plain", "anchored", prefill=False)


@pytest.mark.parametrize("persona", GOES_ON_DIFFERENTLY)
async def test_its_own_turn_goes_on_as_the_model_likes(asker: Asker, persona: Persona) -> None:
    model = DeterministicModel(Answer((Text(tokens(PROSE)),)), persona)
    async with asker.scene([CUT], dialect="anthropic", model=model, policy=AT_ONCE) as scene:
        got = read_turn("anthropic", await scene.read())
    assert got.text.startswith(SHOWN)
    assert got.ended
    assert bool(got.calls) == (persona == "tool_caller")
    assert (scene.runs[0].kind, scene.runs[0].joins) == ("recovered", ("prefill",))
