"""Strategy `prefill`: the answer so far is the last, unfinished assistant turn, and the model goes on in it.

Nothing is echoed, so the parts join as they are. Where a request forbids it, its form says so.
"""

from __future__ import annotations

from typing import Any

from ...types import Snapshot
from .dialects import form_of
from .facts import RequestFacts


def fits(facts: RequestFacts) -> bool:
    return form_of(facts.dialect).prefills(facts)


def put(document: dict[str, Any], facts: RequestFacts, snapshot: Snapshot, text: str, prompt: str) -> str:
    """Change the next request; `text` has no trailing blanks. No quote is asked for."""
    form = form_of(facts.dialect)
    form.put(document, form.with_answer(form.messages(document), text, snapshot.signed_thinking))
    return ""
