"""Strategy `continue-final-message`: servers with open chat templates are told not to close the last turn.

vLLM and SGLang would otherwise begin a new turn, or take the answer for the user's words.
"""

from __future__ import annotations

from .asking import Asking
from .dialects import form_of
from .facts import RequestFacts


def fits(facts: RequestFacts) -> bool:
    return facts.dialect == "openai-chat"


def put(asking: Asking) -> str:
    """Change the next request. No quote is asked for."""
    form = form_of(asking.facts.dialect)
    turns = form.with_answer(form.messages(asking.document), asking.text, asking.snapshot.signed_thinking)
    form.put(asking.document, turns)
    asking.document.update(asking.profile.continue_fields)
    return ""
