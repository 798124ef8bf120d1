"""Each persona does what its name says, to requests for the rest and to no others."""

from __future__ import annotations

from typing import get_args

import pytest

from seamstream.testing import Answer, DeterministicModel, Dialect, Persona, Text, Tool, tokens

from .asking import base, prefill, prompt, said

WORDS = "Reefs grow where warm and clear water meets the light of the sun."
PREFIX, QUOTE, REST = WORDS[:25], WORDS[11:25], WORDS[25:]
ANSWER = Answer((Text(tokens(WORDS)), Tool("depth", ('{"m":1}',))))
by_dialect = pytest.mark.parametrize("dialect", ["openai-chat", "anthropic"])


def texts(persona: Persona, dialect: Dialect) -> tuple[str, str]:
    """What it says to a prefill and to a prompt."""
    model = DeterministicModel(ANSWER, persona)
    return said(model, dialect, prefill(PREFIX)).text, said(model, dialect, prompt(PREFIX, QUOTE)).text


@by_dialect
@pytest.mark.parametrize("persona", get_args(Persona))
def test_a_first_request_always_gets_the_answer(persona: Persona, dialect: Dialect) -> None:
    assert said(DeterministicModel(ANSWER, persona), dialect, base()).text == WORDS


@by_dialect
def test_plain_goes_on(dialect: Dialect) -> None:
    assert texts("plain", dialect) == (REST, QUOTE + REST)


@by_dialect
def test_the_prefacer_announces_the_rest_first(dialect: Dialect) -> None:
    preface = "Sure, here is the rest: "
    assert texts("prefacer", dialect) == (preface + REST, preface + QUOTE + REST)


@by_dialect
def test_the_half_echoer_says_the_last_characters_again(dialect: Dialect) -> None:
    said_again = PREFIX[-30:]
    assert texts("half_echoer", dialect) == (said_again + REST, said_again + REST)


@by_dialect
def test_the_quoter_keeps_the_quotation_marks(dialect: Dialect) -> None:
    assert texts("quoter", dialect) == (REST, f'"{QUOTE}"{REST}')


@by_dialect
def test_the_fencer_fences_its_words(dialect: Dialect) -> None:
    assert texts("fencer", dialect) == (f"```\n{REST}\n```", f"```\n{QUOTE}{REST}\n```")


@by_dialect
def test_the_translator_goes_on_in_other_words_of_the_same_number(dialect: Dialect) -> None:
    for text, due in zip(texts("translator", dialect), (REST, QUOTE + REST), strict=True):
        assert len(text) == len(due)
        assert not set(text.split()) & set(due.split())


@by_dialect
def test_the_silent_one_says_nothing(dialect: Dialect) -> None:
    assert texts("silent", dialect) == ("", "")


@by_dialect
def test_the_paraphraser_never_says_the_words_that_were_due(dialect: Dialect) -> None:
    for text in texts("paraphraser", dialect):
        assert len(text) >= len(REST.strip())
        assert QUOTE not in text
        assert not set(REST.split()) & set(text.split())


@by_dialect
def test_the_restarter_says_everything_again(dialect: Dialect) -> None:
    assert texts("restarter", dialect) == (WORDS, WORDS)


@by_dialect
def test_the_deviating_restarter_leaves_its_words_within_the_prefix(dialect: Dialect) -> None:
    for text in texts("deviating_restarter", dialect):
        assert text.startswith(WORDS[:12])
        assert not text.startswith(PREFIX)
        assert text != WORDS


@by_dialect
def test_the_refuser_declines(dialect: Dialect) -> None:
    answer = said(DeterministicModel(ANSWER, "refuser"), dialect, prefill(PREFIX))
    assert answer.text.startswith("I'm sorry")
    assert (answer.calls, answer.stop) == ((), {"openai-chat": "stop", "anthropic": "end_turn"}[dialect])


@by_dialect
def test_the_tool_caller_says_nothing_and_calls(dialect: Dialect) -> None:
    for body in (prefill(PREFIX), prompt(PREFIX, QUOTE)):
        answer = said(DeterministicModel(ANSWER, "tool_caller"), dialect, body)
        assert (answer.text, [name for name, _ in answer.calls]) == ("", ["depth"])
        assert answer.stop == {"openai-chat": "tool_calls", "anthropic": "tool_use"}[dialect]
