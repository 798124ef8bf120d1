"""What a strategy works with when it writes the next request."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...types import Snapshot
from .facts import RequestFacts
from .profile import Profile


class Asking(NamedTuple):
    """`document` is the next request in the making, a copy of the base request. `text` is the answer so far
    without its trailing blanks; `prompt` asks for the rest and has a place for a quote.
    """

    document: dict[str, Any]
    facts: RequestFacts
    snapshot: Snapshot
    text: str
    prompt: str
    profile: Profile
