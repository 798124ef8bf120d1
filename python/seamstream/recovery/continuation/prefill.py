"""Strategy `prefill`: the answer so far is the last, unfinished assistant turn, and the model goes on in it.

Nothing is echoed, so the parts join as they are. Where a request forbids it, its form says so.
"""

from __future__ import annotations

from .asking import Asking
from .dialects import form_of
from .facts import RequestFacts


def fits(facts: RequestFacts) -> bool:
    return form_of(facts.dialect).prefills(facts)


def put(asking: Asking) -> str:
    """Change the next request. No quote is asked for."""
    form = form_of(asking.facts.dialect)
    turns = form.with_answer(form.messages(asking.document), asking.text, asking.snapshot.signed_thinking)
    form.put(asking.document, turns)
    return ""
