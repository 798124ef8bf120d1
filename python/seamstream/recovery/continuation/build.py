"""The next attempt's request body, built from the base request and the turn so far.

The base body is parsed, not edited: each continuation starts from it again, so a second one sends one prefix.
What is not known here stays as the caller wrote it, tools, tool choice and system prompt included.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import orjson

from ...types import Snapshot
from ..policy import RecoveryPolicy
from . import continue_final_message, prefill, prefix_flag, prompt
from .asking import Asking
from .dialects import form_of
from .facts import RequestFacts, Strategy
from .profile import Profile
from .route import Route


class _Way(NamedTuple):
    """One strategy that writes a new request. `exact`: its reply goes on where the prefix ends."""

    fits: Callable[[RequestFacts], bool]
    put: Callable[[Asking], str]
    exact: bool
    route: Callable[[Asking], Route | None] = lambda _asking: None


_WAYS: Final[dict[str, _Way]] = {
    "prefill": _Way(prefill.fits, prefill.put, exact=True),
    "prefix-flag": _Way(prefix_flag.fits, prefix_flag.put, exact=True, route=prefix_flag.route),
    "continue-final-message": _Way(continue_final_message.fits, continue_final_message.put, exact=True),
    "prompt": _Way(prompt.fits, prompt.put, exact=False),
}
_BYTES_PER_TOKEN: Final = 4
_UNKNOWN: Final = Profile(("prompt",))


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
    route: Route | None = None
    """Where it is sent, if not where the base request was."""
    native: bool = False
    """The same response goes on at an exact position: there is nothing to join."""
    polls: bool = False
    """It is asked for as a whole, again and again until it is over."""
    patience_s: float = math.inf
    """How long the stream may be silent before another way is better."""


def fitting_strategies(
    accepted: Iterable[Strategy], facts: RequestFacts, allowed: Iterable[str] | None = None
) -> tuple[Strategy, ...]:
    """Of the strategies a provider accepts, those that this request and the planner's decision leave."""
    permitted = None if allowed is None else frozenset(allowed)
    return tuple(
        name
        for name in accepted
        if (permitted is None or name in permitted) and name in _WAYS and _WAYS[name].fits(facts)
    )


def build_continuation(
    strategy: Strategy,
    base_body: bytes,
    facts: RequestFacts,
    snapshot: Snapshot,
    policy: RecoveryPolicy,
    *,
    profile: Profile = _UNKNOWN,
    produced_tokens: int | None = None,
) -> Continuation:
    """Ask for the rest of the answer. `profile` is the provider's. `produced_tokens` is a lower bound of what
    the turn's text took, if known better than from the snapshot (a driver knows which attempts a restart
    threw away).
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
    way = _WAYS[strategy]
    asking = Asking(document, facts, snapshot, text, policy.continuation_prompt, profile)
    quote = way.put(asking)
    form_of(facts.dialect).lower_limits(document, facts, max(produced - _echo_tokens(quote), 0))
    return Continuation(
        *(strategy, orjson.dumps(document), way.exact, quote, stripped, facts.stop_sequences),
        route=way.route(asking),
    )


def spoken_text(snapshot: Snapshot) -> str:
    """The text to go on from. A refusal that stands alone is continued like text."""
    return snapshot.text if snapshot.text.strip() else snapshot.refusal


def _lower_bound(snapshot: Snapshot) -> int:
    """Both numbers are lower bounds: counters may be missing, and a delta holds at least one token."""
    return max(snapshot.usage.output_tokens or 0, snapshot.content_deltas)


def _echo_tokens(quote: str) -> int:
    """About what repeating the quote takes; without the allowance the echo would eat the answer's end."""
    return -(-len(quote.encode()) // _BYTES_PER_TOKEN)
