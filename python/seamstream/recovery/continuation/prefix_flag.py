"""Strategy `prefix-flag`: the answer so far as a last assistant turn that says it is only the beginning.

DeepSeek answers with what follows; Mistral also repeated the prefix in some versions, which the seam cuts
away like any other echo. What the flag does beside tools is published by neither, so then it is not used.
"""

from __future__ import annotations

from .asking import Asking
from .dialects import form_of
from .facts import RequestFacts
from .route import Route

FLAG = "prefix"


def fits(facts: RequestFacts) -> bool:
    return facts.dialect == "openai-chat" and not facts.tools_offered


def put(asking: Asking) -> str:
    """Change the next request. No quote is asked for."""
    form = form_of(asking.facts.dialect)
    turns = form.with_answer(form.messages(asking.document), asking.text, asking.snapshot.signed_thinking)
    turns[-1] = {**turns[-1], FLAG: True}
    form.put(asking.document, turns)
    return ""


def route(asking: Asking) -> Route | None:
    """Some providers take such requests under another path only."""
    path = asking.profile.prefix_path
    return None if path is None else Route(path=path)
