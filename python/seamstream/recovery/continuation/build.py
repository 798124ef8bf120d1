"""The next attempt's request body, built from the base request and the turn so far.

The base body is parsed, not edited: each continuation starts from it again, so a second one sends one prefix.
What is not known here stays as the caller wrote it, tools, tool choice and system prompt included.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, Literal

import orjson

from ...types import Snapshot
from ..policy import RecoveryPolicy
from . import prefill, prompt
from .messages import conversation_of, spoken_text
from .request import RequestFacts

Strategy = Literal["prefill", "prompt"]

_LIMIT_FIELDS: Final = ("max_tokens", "max_completion_tokens", "max_output_tokens")
# OpenAI refuses a lower `max_output_tokens`.
_LEAST_OUTPUT_TOKENS: Final = 16
_BYTES_PER_TOKEN: Final = 4


@dataclass(frozen=True, slots=True)
class Continuation:
    """One way of asking for the rest, ready to be sent, and what the seam needs to know about it.

    `exact`: the reply goes on where the prefix ends, else it is to begin with `quote`. `stripped` are the
    blanks that the reader has and the prefix sent has not. `length_exhausted`: nothing is left to ask for,
    end as `length`.
    """

    strategy: Strategy
    body: bytes
    exact: bool
    quote: str = ""
    stripped: str = ""
    stop: tuple[str, ...] = ()
    length_exhausted: bool = False


def fitting_strategies(
    accepted: Iterable[Strategy], facts: RequestFacts, allowed: Iterable[str] | None = None
) -> tuple[Strategy, ...]:
    """Of the strategies a provider accepts, those that this request and the planner's decision leave."""
    permitted = None if allowed is None else frozenset(allowed)
    fits = {"prefill": prefill.fits, "prompt": prompt.fits}
    return tuple(name for name in accepted if (permitted is None or name in permitted) and fits[name](facts))


def build_continuation(
    strategy: Strategy,
    base_body: bytes,
    facts: RequestFacts,
    snapshot: Snapshot,
    policy: RecoveryPolicy,
    *,
    produced_tokens: int | None = None,
) -> Continuation:
    """Ask for the rest of the answer. `produced_tokens` is a lower bound of what the turn's text took, if
    known better than from the snapshot (a driver knows which attempts a restart threw away).
    """
    document: dict[str, Any] = orjson.loads(base_body)
    whole = spoken_text(snapshot)
    text = whole.rstrip()
    stripped = whole[len(text) :]
    produced = produced_tokens if produced_tokens is not None else _lower_bound(snapshot)
    if facts.max_tokens is not None and facts.max_tokens - produced < 1:
        return Continuation(
            strategy, b"", exact=False, stripped=stripped, stop=facts.stop_sequences, length_exhausted=True
        )
    exact, quote = _put_messages(strategy, document, facts, snapshot, text, policy)
    _lower_limits(document, facts, max(produced - _echo_tokens(quote), 0))
    return Continuation(strategy, orjson.dumps(document), exact, quote, stripped, facts.stop_sequences)


def _put_messages(
    strategy: Strategy,
    document: dict[str, Any],
    facts: RequestFacts,
    snapshot: Snapshot,
    text: str,
    policy: RecoveryPolicy,
) -> tuple[bool, str]:
    name, base = conversation_of(facts.dialect, document)
    if strategy == "prefill":
        document[name] = prefill.messages(base, facts, snapshot, text)
        return prefill.EXACT, ""
    document[name] = prompt.messages(base, facts, snapshot, text, policy.continuation_prompt)
    return prompt.EXACT, prompt.quote_of(text)


def _lower_bound(snapshot: Snapshot) -> int:
    """Both numbers are lower bounds: counters may be missing, and a delta holds at least one token."""
    return max(snapshot.usage.output_tokens or 0, snapshot.content_deltas)


def _echo_tokens(quote: str) -> int:
    """About what repeating the quote takes; without the allowance the echo would eat the answer's end."""
    return -(-len(quote.encode()) // _BYTES_PER_TOKEN)


def _lower_limits(document: dict[str, Any], facts: RequestFacts, produced: int) -> None:
    """Lower what may still be produced, but leave thinking its budget and one token or it is refused."""
    floor = facts.thinking_budget_tokens + 1
    if facts.dialect == "openai-responses":
        floor = _LEAST_OUTPUT_TOKENS
    for name in _LIMIT_FIELDS:
        limit = document.get(name)
        if isinstance(limit, int) and not isinstance(limit, bool):
            document[name] = max(limit - produced, min(limit, floor))
    minimum = document.get("min_tokens")
    if isinstance(minimum, int) and not isinstance(minimum, bool):
        document["min_tokens"] = max(minimum - produced, 0)
