"""Asking the model for the rest of its answer: at every character, in both ways, and in the wrong ways."""

from __future__ import annotations

from typing import Any

import pytest

from seamstream.testing import (
    Answer,
    DeterministicModel,
    Dialect,
    Reasoning,
    Refusal,
    Text,
    Tool,
    signature_of,
    tokens,
)

from .asking import QUESTION, base, prefill, prompt, refused, said

DIALECTS: list[Dialect] = ["openai-chat", "anthropic"]
WORDS = 'Reefs say "grow"  where\nwarm 水 meets 🐠 light. '
ANSWERS = {
    "text": Answer((Text(tokens(WORDS)),)),
    "text then tool": Answer((Text(tokens(WORDS)), Tool("depth", ('{"m":', "1}")))),
    "reasoning first": Answer((Reasoning(tokens("Hmm. ")), Text(tokens(WORDS)))),
    "refusal": Answer((Refusal(tokens(WORDS)),), stop="refusal"),
}
by_answer = pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS.keys())
by_dialect = pytest.mark.parametrize("dialect", DIALECTS)


def prefixes(dialect: Dialect) -> list[str]:
    """Every beginning of the text that the vendor takes as the start of an assistant turn."""
    every = [WORDS[:end] for end in range(1, len(WORDS) + 1)]
    return [prefix for prefix in every if dialect == "openai-chat" or prefix == prefix.rstrip()]


@by_dialect
@by_answer
def test_a_prefill_gets_exactly_the_rest(dialect: Dialect, answer: Answer) -> None:
    model = DeterministicModel(answer)
    whole = said(model, dialect, base())
    for prefix in prefixes(dialect):
        rest = said(model, dialect, prefill(prefix))
        assert prefix + rest.text + rest.refusal == whole.text + whole.refusal
        assert (rest.refusal == "") == (whole.refusal == "" or prefix == WORDS)
        assert (rest.calls, rest.stop) == (whole.calls, whole.stop)


@by_dialect
@by_answer
def test_a_prompt_gets_the_quotation_and_the_rest(dialect: Dialect, answer: Answer) -> None:
    model = DeterministicModel(answer)
    whole = said(model, dialect, base())
    for prefix in prefixes(dialect):
        quote = prefix[-10:]
        if not quote.strip():
            continue
        rest = said(model, dialect, prompt(prefix, quote))
        spoken = rest.text + rest.refusal
        assert spoken.startswith(quote)
        assert prefix + spoken[len(quote) :] == whole.text + whole.refusal
        assert (rest.calls, rest.stop) == (whole.calls, whole.stop)


@by_dialect
def test_a_quotation_may_end_in_blanks_that_the_turn_lost(dialect: Dialect) -> None:
    model = DeterministicModel(ANSWERS["text"])
    rest = said(model, dialect, prompt('Reefs say "grow"', '"grow"  '))
    assert rest.text == WORDS[WORDS.index('"grow"') :]


@by_dialect
def test_blocks_are_read_like_a_string(dialect: Dialect) -> None:
    blocks = [{"type": "text", "text": "Reefs "}, {"type": "text", "text": "say"}]
    body = base(messages=[QUESTION, {"role": "assistant", "content": blocks}])
    assert said(DeterministicModel(ANSWERS["text"]), dialect, body).text == WORDS[9:]


def test_a_refusal_may_come_back_in_its_own_field() -> None:
    turn = {"role": "assistant", "content": None, "refusal": "Reefs say"}
    rest = said(DeterministicModel(ANSWERS["refusal"]), "openai-chat", base(messages=[QUESTION, turn]))
    assert (rest.text, rest.refusal) == ("", WORDS[9:])


@by_dialect
def test_an_earlier_turn_that_is_answered_is_no_request_for_the_rest(dialect: Dialect) -> None:
    model = DeterministicModel(ANSWERS["text"])
    for earlier, user in [("Hello!", "Tell me more."), ("Hello!", 'What is "salt"?'), ("Reefs say", "Why?")]:
        turns = [QUESTION, {"role": "assistant", "content": earlier}, {"role": "user", "content": user}]
        assert said(model, dialect, base(messages=turns)).text == WORDS


@by_dialect
def test_a_prefix_of_another_answer_is_refused(dialect: Dialect) -> None:
    model = DeterministicModel(ANSWERS["text"])
    for body in (prefill("Reefs saw"), prefill(WORDS + "more"), prompt("Reefs saw", "saw")):
        assert "not the beginning" in refused(model.reply(dialect, body))


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (base(messages=[]), "at least one message"),
        (prefill("Reefs "), "trailing whitespace"),
        (prefill(""), "non-whitespace"),
        (prefill("Reefs", thinking={"type": "enabled", "budget_tokens": 9}, max_tokens=99), "thinking"),
        (base(max_tokens=0), "max_tokens"),
        (base(thinking={"type": "enabled", "budget_tokens": 9}, max_tokens=9), "budget_tokens"),
    ],
)
def test_requests_that_anthropic_refuses(body: dict[str, Any], words: str) -> None:
    assert words in refused(DeterministicModel(ANSWERS["text"]).reply("anthropic", body))


@pytest.mark.parametrize(
    ("block", "words"),
    [
        ({"type": "text", "text": " "}, "non-whitespace"),
        ({"type": "thinking", "thinking": "Hmm.", "signature": ""}, "signature"),
        ({"type": "thinking", "thinking": "Hmm!", "signature": signature_of("Hmm.")}, "signature"),
        ({"type": "tool_use", "id": "t", "name": "depth", "input": {}}, "tool call"),
    ],
)
def test_blocks_that_anthropic_refuses_in_an_assistant_turn(block: dict[str, Any], words: str) -> None:
    turn = {"role": "assistant", "content": [block, {"type": "text", "text": "Reefs"}]}
    reply = DeterministicModel(ANSWERS["text"]).reply("anthropic", base(messages=[QUESTION, turn]))
    assert words in refused(reply)


def test_a_model_without_prefill_says_so_or_begins_anew() -> None:
    model = DeterministicModel(ANSWERS["text"], accepts_prefill=False)
    assert "prefill" in refused(model.reply("anthropic", prefill("Reefs")))
    assert said(model, "openai-chat", prefill("Reefs")).text == WORDS
    assert said(model, "anthropic", prompt("Reefs say", "Reefs say")).text == WORDS


@by_dialect
def test_the_token_limit_holds_for_the_continuation_alone(dialect: Dialect) -> None:
    model = DeterministicModel(Answer((Text(tokens("one two three four")),)))
    rest = said(model, dialect, prefill("one two", max_tokens=1))
    assert rest.text == " three"
    assert rest.stop == {"openai-chat": "length", "anthropic": "max_tokens"}[dialect]


@by_dialect
def test_a_model_can_begin_with_other_blanks_or_with_reasoning(dialect: Dialect) -> None:
    model = DeterministicModel(ANSWERS["text"], leading_blanks="\n\n", rethinks=Reasoning(("Again",)))
    rest = said(model, dialect, prefill('Reefs say "grow"'))
    assert rest.text == "\n\n" + WORDS[WORDS.index("where") :]
    assert b"Again" not in model.reply(dialect, prefill("Reefs")).payload
    assert b"Again" in model.reply(dialect, prompt("Reefs", "Reefs")).payload
