"""Strategy `prefill`: the answer so far is the last, unfinished assistant turn, and the model goes on in it.

Nothing is echoed, so the parts join as they are. Where the provider cannot do this for a request, `fits` says
no.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...types import Snapshot
from .messages import Message, with_assistant_turn
from .request import RequestFacts

NAME = "prefill"
EXACT = True


def fits(facts: RequestFacts) -> bool:
    """OpenAI Responses has none; Anthropic refuses one with thinking, structured output or a forced tool."""
    if facts.dialect != "anthropic":
        return facts.dialect == "openai-chat"
    return not (facts.thinking or facts.structured_output or facts.forced_tool)


def messages(base: Sequence[Message], facts: RequestFacts, snapshot: Snapshot, text: str) -> list[Message]:
    """The messages of the next request; `text` has no trailing blanks."""
    return with_assistant_turn(base, facts.dialect, text, snapshot.signed_thinking)
