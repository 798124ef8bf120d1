"""How differently models behave when they are asked for the rest of an answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Literal

from .answer import Answer, Part, Refusal, Text, Tool, tokens
from .asked import Asked

Persona = Literal[
    "plain",
    "prefacer",
    "half_echoer",
    "quoter",
    "fencer",
    "paraphraser",
    "translator",
    "restarter",
    "deviating_restarter",
    "refuser",
    "silent",
    "tool_caller",
]

PREFACE = "Sure, here is the rest: "
REFUSED = "I'm sorry, but I can't go on with that."
FENCE = "```"
HALF_ECHO_CHARS = 30
_VOWELS = str.maketrans("aeiouAEIOU", "iouaeIOUAE")


def continue_as(persona: Persona, answer: Answer, asked: Asked) -> Answer:
    """What `persona` answers to a request for the rest of `answer`."""
    return _PERSONAS[persona](answer, asked)


def _plain(answer: Answer, asked: Asked) -> Answer:
    """Does as it is asked: the quotation, if there is one, and then the rest."""
    return answer.after(asked.position, echo=asked.quote)


def _prefacer(answer: Answer, asked: Asked) -> Answer:
    """Says that it will go on, and then does."""
    return answer.after(asked.position, echo=PREFACE + asked.quote)


def _half_echoer(answer: Answer, asked: Asked) -> Answer:
    """Repeats only the last characters of what it had said, whether that was asked for or not."""
    said = answer.text[: asked.position]
    return answer.after(asked.position, echo=said[-HALF_ECHO_CHARS:])


def _quoter(answer: Answer, asked: Asked) -> Answer:
    """Puts the quotation between quotation marks, as the request had it."""
    return answer.after(asked.position, echo=f'"{asked.quote}"' if asked.quote else "")


def _fencer(answer: Answer, asked: Asked) -> Answer:
    """Puts all it says into a code fence."""
    rest = answer.after(asked.position, echo=FENCE + "\n" + asked.quote)
    return replace(rest, parts=(*rest.parts, Text(("\n", FENCE))))


def _paraphraser(answer: Answer, asked: Asked) -> Answer:
    """Quotes nothing and says the rest in other words."""
    rest = answer.after(asked.position)
    return replace(rest, parts=tuple(_reworded(part) for part in rest.parts))


def _translator(answer: Answer, asked: Asked) -> Answer:
    """Says the quotation and the rest in a language of its own."""
    rest = answer.after(asked.position, echo=asked.quote)
    return replace(rest, parts=tuple(_translated(part) for part in rest.parts))


def _restarter(answer: Answer, _asked: Asked) -> Answer:
    """Begins the whole answer again."""
    return replace(answer, stop=answer.stop_reason)


def _deviating_restarter(answer: Answer, asked: Asked) -> Answer:
    """Begins again, and leaves its first wording half way through what it had said."""
    said = answer.text[: asked.position // 2]
    rest = answer.after(len(said))
    return replace(rest, parts=(Text(tokens(said)), *(_reworded(part) for part in rest.parts)))


def _refuser(_answer: Answer, _asked: Asked) -> Answer:
    """Declines to go on."""
    return Answer((Text(tokens(REFUSED)),))


def _silent(answer: Answer, _asked: Asked) -> Answer:
    """Ends its turn at once."""
    return Answer((), stop=answer.stop_reason)


def _tool_caller(answer: Answer, _asked: Asked) -> Answer:
    """Calls a tool in place of going on."""
    call = next((part for part in answer.parts if isinstance(part, Tool)), None)
    return Answer((call or Tool("resume_answer", ('{"from":', ' "the cut"}')),))


def _reworded(part: Part) -> Part:
    """Every word of the part backwards: never the words that were expected, and of the same length."""
    if not isinstance(part, Text | Refusal):
        return part
    words = "".join(part.pieces).split()
    return replace(part, pieces=tokens("In other words: " + " ".join(word[::-1] for word in words)))


def _translated(part: Part) -> Part:
    """Every word with its vowels changed: the blanks stay, hardly a word does."""
    if not isinstance(part, Text | Refusal):
        return part
    return replace(part, pieces=tuple(piece.translate(_VOWELS) for piece in part.pieces))


_PERSONAS: dict[Persona, Callable[[Answer, Asked], Answer]] = {
    "plain": _plain,
    "prefacer": _prefacer,
    "half_echoer": _half_echoer,
    "quoter": _quoter,
    "fencer": _fencer,
    "paraphraser": _paraphraser,
    "translator": _translator,
    "restarter": _restarter,
    "deviating_restarter": _deviating_restarter,
    "refuser": _refuser,
    "silent": _silent,
    "tool_caller": _tool_caller,
}
