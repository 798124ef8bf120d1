"""What one provider or model can do, as data: given by the user, or known (`known.py`)."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase

from .facts import Dialect, Strategy


@dataclass(frozen=True, slots=True)
class Profile:
    """How a provider or model may be asked for the rest. `host` and `model` are patterns (`*`), compared
    without case; `strategies` are tried in their order.

    `done_is_end`: this server never sends a finish reason, so its `[DONE]` alone proves the answer complete.
    `prefix_path`: where requests with a prefix flag go, if not to the caller's path. `continue_fields`: what
    the strategy `continue-final-message` sets beside the messages. `returns_reasoning`: a turn that called
    tools must come back with its `reasoning_content`; agents send it.
    """

    strategies: tuple[Strategy, ...]
    host: str = "*"
    dialect: Dialect | None = None
    model: str = "*"
    done_is_end: bool = False
    prefix_path: str | None = None
    continue_fields: tuple[tuple[str, bool], ...] = (
        ("continue_final_message", True),
        ("add_generation_prompt", False),
    )
    returns_reasoning: bool = False

    def matches(self, host: str, dialect: Dialect, model: str) -> bool:
        """Is this the profile of such a request?"""
        if self.dialect is not None and self.dialect != dialect:
            return False
        hosts, models = self.host.lower(), self.model.lower()
        return fnmatchcase(host.lower(), hosts) and fnmatchcase(model.lower(), models)
