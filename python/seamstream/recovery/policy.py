"""What a user decides about recovery, as frozen data: modes, times, holds, budgets and limits.

Nothing here acts. The planner, the budgets and the driver read these fields; names carry their units.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, cast, get_args

from ..errors import ConfigurationError
from .prepare import PrepareAttempt
from .targets import Fallback

Mode = Literal["off", "observe", "recover"]
SeamRule = Literal["strict", "best_effort"]
OnStoreError = Literal["continue", "fail"]

MODE_VARIABLE: Final = "SEAMSTREAM_MODE"
QUOTE_PLACEHOLDER: Final = "{quote}"
DEFAULT_CONTINUATION_PROMPT: Final = (
    "The connection broke while your reply above was being sent. What arrived of it ends with the text of "
    "this JSON string: {quote}\n"
    "Begin your next reply with exactly that text and go straight on from there, without any remark about "
    "the interruption, to the end of the reply as you would have written it, tool calls included."
)


@dataclass(frozen=True, slots=True)
class BackoffPolicy:
    """Exponential with full jitter: a wait is drawn from 0 to `first_s` * `factor` ** n, at most `max_s`."""

    first_s: float = 0.5
    factor: float = 2.0
    max_s: float = 8.0


@dataclass(frozen=True, slots=True)
class RecoveryPolicy:
    """Everything that can be set about recovery. The presets are starting points for kinds of use.

    `max_recovery_s` counts the time from a cut to the next content, summed over a run: a flowing answer may
    last as long as it likes. `allow_after_start=False` forbids every request after content was received.

    `fallbacks` are asked when the caller's target fails, is overloaded or asks to be left alone for long. One
    with another model goes on with an answer that has begun only with `allow_model_change`.
    `store_s` is how long a call to the checkpoint store may take; one that takes longer has failed.
    `prepare_attempt` is shown every attempt of a run in mode "recover", the first included, and may change or
    refuse it; `prepare_s` is how long an awaitable of it may take. It is never called in other modes.
    """

    mode: Mode = "recover"
    sample: float = 1.0

    allow_after_start: bool = True
    max_recoveries: int = 2
    max_recoveries_without_progress: int = 2
    max_recovery_s: float = 120.0
    backoff: BackoffPolicy = field(default_factory=BackoffPolicy)
    max_retry_after_s: float = 120.0
    fallbacks: tuple[Fallback, ...] = ()
    allow_model_change: bool = False
    prepare_attempt: PrepareAttempt | None = None
    prepare_s: float = 10.0

    connect_s: float = 10.0
    first_content_s: float = 600.0
    idle_s: float = 120.0
    quiet_s: float = 600.0
    stall_warn_s: float = 30.0

    hold_preamble_s: float = 2.0
    hold_tools_s: float = 2.0
    hold_tools_bytes: int = 4096
    hold_seam_s: float = 1.5
    terminal_grace_s: float = 0.25
    keepalive_s: float = 10.0

    seam: SeamRule = "strict"
    continuation_prompt: str = DEFAULT_CONTINUATION_PROMPT
    repair_history: bool = True

    max_retained_request_bytes: int = 8 * 1024 * 1024
    max_event_bytes: int = 16 * 1024 * 1024
    max_turn_bytes: int = 64 * 1024 * 1024
    max_json_depth: int = 512
    max_parts: int = 4096

    checkpoint_every_s: float = 1.0
    store_s: float = 5.0
    on_store_error: OnStoreError = "continue"

    def __post_init__(self) -> None:
        _check_choices(self)
        _check_ranges(self)
        _check_prompt(self.continuation_prompt)
        if not all(isinstance(each, Fallback) for each in self.fallbacks):
            raise ConfigurationError("fallbacks must be Fallback(url, headers=...) each")

    def replace(self, **changes: Any) -> RecoveryPolicy:
        """The same policy with some fields changed."""
        try:
            return dataclasses.replace(self, **changes)
        except TypeError as error:
            raise ConfigurationError(f"unknown policy field: {error}") from error

    def with_environment(self, environment: Mapping[str, str]) -> RecoveryPolicy:
        """The policy as `SEAMSTREAM_MODE` in `environment` overrides it."""
        mode = environment.get(MODE_VARIABLE, "").strip().lower()
        if not mode or mode == self.mode:
            return self
        if mode not in get_args(Mode):
            raise ConfigurationError(
                f"{MODE_VARIABLE} must be one of {', '.join(get_args(Mode))}, not {mode!r}"
            )
        return self.replace(mode=cast("Mode", mode))

    def effective_mode(self, random: float) -> Mode:
        """The mode of one run; `random` is a number from 0 up to 1. Runs outside the sample are off."""
        return self.mode if random < self.sample else "off"

    @classmethod
    def chat(cls, **changes: Any) -> RecoveryPolicy:
        """A person is reading: give up sooner, tell about a stall sooner."""
        return cls(max_recovery_s=45.0, max_retry_after_s=30.0, stall_warn_s=10.0).replace(**changes)

    @classmethod
    def agent(cls, **changes: Any) -> RecoveryPolicy:
        """A program acts on tool calls: hold a call until it is whole, and be patient."""
        held = {"hold_tools_s": 30.0, "hold_tools_bytes": 1024 * 1024}
        return cls(max_recoveries=4, max_recovery_s=300.0, **held).replace(**changes)  # type: ignore[arg-type]

    @classmethod
    def json(cls, **changes: Any) -> RecoveryPolicy:
        """Structured output: it can only be asked for again as a whole, so allow that more often."""
        return cls(max_recoveries=3, max_recoveries_without_progress=3).replace(**changes)

    @classmethod
    def batch(cls, **changes: Any) -> RecoveryPolicy:
        """Nobody is waiting: long limits, long waits, more attempts."""
        times = cls(
            max_recovery_s=1800.0,
            max_retry_after_s=900.0,
            first_content_s=1800.0,
            idle_s=300.0,
            quiet_s=1800.0,
        )
        return times.replace(max_recoveries=6, max_recoveries_without_progress=3).replace(**changes)


_CHOICES: Final[dict[str, tuple[str, ...]]] = {
    "mode": get_args(Mode),
    "seam": get_args(SeamRule),
    "on_store_error": get_args(OnStoreError),
}
# Zero means "never held" or "no such recovery"; a timer of zero would fire at once on every healthy stream.
_FROM_ZERO: Final = (
    *("max_recoveries", "max_recoveries_without_progress", "max_recovery_s", "max_retry_after_s"),
    *("hold_preamble_s", "hold_tools_s", "hold_tools_bytes", "hold_seam_s", "terminal_grace_s"),
    *("max_retained_request_bytes", "checkpoint_every_s"),
)
_ABOVE_ZERO: Final = (
    *("connect_s", "prepare_s", "first_content_s", "idle_s", "quiet_s", "stall_warn_s", "keepalive_s"),
    "store_s",
    *("max_event_bytes", "max_turn_bytes", "max_json_depth", "max_parts"),
)


def _check_choices(policy: RecoveryPolicy) -> None:
    for name, allowed in _CHOICES.items():
        value = getattr(policy, name)
        if value not in allowed:
            raise ConfigurationError(f"{name} must be one of {', '.join(allowed)}, not {value!r}")


def _check_ranges(policy: RecoveryPolicy) -> None:
    if not 0.0 <= policy.sample <= 1.0:
        raise ConfigurationError(f"sample must lie between 0 and 1, not {policy.sample!r}")
    for name in _FROM_ZERO:
        if not getattr(policy, name) >= 0:
            raise ConfigurationError(f"{name} must not be negative, not {getattr(policy, name)!r}")
    for name in _ABOVE_ZERO:
        if not getattr(policy, name) > 0:
            raise ConfigurationError(f"{name} must be above 0, not {getattr(policy, name)!r}")
    backoff = policy.backoff
    if not (0.0 <= backoff.first_s <= backoff.max_s and backoff.factor >= 1.0):
        raise ConfigurationError(f"backoff needs 0 <= first_s <= max_s and factor >= 1, not {backoff!r}")


def _check_prompt(prompt: str) -> None:
    before, found, after = prompt.partition(QUOTE_PLACEHOLDER)
    if not found or QUOTE_PLACEHOLDER in after:
        raise ConfigurationError(f"continuation_prompt must hold {QUOTE_PLACEHOLDER} exactly once")
    if '"' in before:
        raise ConfigurationError(
            f'continuation_prompt must hold no " before {QUOTE_PLACEHOLDER}: the quote is its first string'
        )
