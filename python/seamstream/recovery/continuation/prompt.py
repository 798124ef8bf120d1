"""Strategy `prompt`: the answer so far as an assistant turn, then a user message that asks for the rest.

The user message quotes the end of the text as a JSON string and asks to begin with it: the echo is what shows
where the reply fits. Tools and the system prompt stay as they are, and nothing in the message forbids a tool.
"""

from __future__ import annotations

import unicodedata
from typing import Final

import orjson

from ..policy import QUOTE_PLACEHOLDER
from .asking import Asking
from .dialects import form_of
from .facts import RequestFacts

MAX_QUOTE_CHARS: Final = 160
# A quote that begins with a whole word is easier to repeat; looking further would waste its length.
_SEARCH_CHARS: Final = 24
_JOINER: Final = "\u200d"


def fits(facts: RequestFacts) -> bool:
    """Any conversation may go on with a user turn."""
    return form_of(facts.dialect).prompts(facts)


def put(asking: Asking) -> str:
    """Change the next request, and return the quote that its answer is to begin with."""
    quote, form = quote_of(asking.text), form_of(asking.facts.dialect)
    asked = asking.prompt.replace(QUOTE_PLACEHOLDER, orjson.dumps(quote).decode())
    turns = form.with_answer(form.messages(asking.document), asking.text, asking.snapshot.signed_thinking)
    form.put(asking.document, form.with_question(turns, asked))
    return quote


def quote_of(text: str) -> str:
    """The end of `text`: all of a short one, else from a whole character, if near a word, on."""
    text = text.rstrip()
    if len(text) <= MAX_QUOTE_CHARS:
        return text
    return text[_word_start(text, _character_start(text, len(text) - MAX_QUOTE_CHARS)) :]


def _character_start(text: str, start: int) -> int:
    """The first position from `start` on where a character begins; `start` itself where none is near."""
    nearby = range(start, start + _SEARCH_CHARS)
    return next((position for position in nearby if not _inside_character(text, position)), start)


def _inside_character(text: str, start: int) -> bool:
    """Would a cut before `start` split what a reader sees as one character?"""
    after, before = text[start], text[start - 1]
    if before == _JOINER or after == _JOINER or (before, after) == ("\r", "\n"):
        return True
    modifier = "\U0001f3fb" <= after <= "\U0001f3ff" or "\ufe00" <= after <= "\ufe0f"
    return modifier or unicodedata.combining(after) != 0


def _word_start(text: str, start: int) -> int:
    if text[start - 1].isspace():
        return start
    nearby = range(start + 1, start + _SEARCH_CHARS)
    return next((at for at in nearby if text[at - 1].isspace() and not text[at].isspace()), start)
