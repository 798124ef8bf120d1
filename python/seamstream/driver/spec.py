"""What a driver is given: the facts of one run, and what all runs of a process share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Literal

from ..errors import FrameTooLarge, StreamCutError
from ..observe.hooks import Notice, Sinks
from ..recovery.continuation.facts import Dialect
from ..recovery.continuation.profile import Profile
from ..recovery.continuation.profiles import ProfileBook
from ..recovery.policy import RecoveryPolicy
from ..recovery.repair import UnsignedThinking
from ..recovery.response_ids import ResponseIds
from ..recovery.retry_budget import RetryBudget
from ..stores.checkpoints import StreamCheckpoint
from ..types import Outcome, Reader

if TYPE_CHECKING:
    from ..clock import Clock

PROCESS_PROFILES: Final = ProfileBook()
"""What refusals taught this process."""

PROCESS_BUDGET: Final = RetryBudget()
"""The accounts of all targets of this process."""

PROCESS_RESPONSES: Final = ResponseIds()
"""Ids of responses that runs of this process left with their readers in place of the provider's."""

PROCESS_UNSIGNED: Final = UnsignedThinking()
"""Thinking that runs of this process left with their readers unsigned."""


def book_of(profiles: ProfileBook | Iterable[Profile] | None) -> ProfileBook:
    """The user's book, or one with the user's profiles; without either that of the process."""
    if isinstance(profiles, ProfileBook):
        return profiles
    return ProfileBook(profiles) if profiles else PROCESS_PROFILES


@dataclass(frozen=True, slots=True)
class RunSpec:
    """One run. `body` is the request as the caller wrote it, None when it was too large to keep.

    `target` is scheme, host and port; `host` is what profiles know. `idempotency` is the caller's header,
    name and value. Errors are raised as the transport's own classes: `cut_error`, `frame_error`,
    `timeout_error`.
    """

    run_id: str
    dialect: Dialect
    target: str
    host: str
    reader: Reader
    policy: RecoveryPolicy
    mode: Literal["observe", "recover"]
    body: bytes | None
    path: str = ""
    """The path of the request's URL, where some dialects name the model."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """The caller's headers that are no secrets, for a hook that is shown each attempt."""
    wants_stream: bool = True
    """False: the request did not ask for a stream, so a failure before one is nothing of ours."""
    choices: int = 1
    conversation: str | None = None
    """The name under which the caller has asked the server to keep the stream."""
    idempotency: tuple[str, str] | None = None
    checkpoint_key: str | None = None
    keeps_request: bool = False
    """Its checkpoint holds the request, for who goes on with it by its id alone."""
    replayable: bool = False
    """Its events are logged before they leave."""
    epoch: int = 1
    """Counts the owners of a run that processes take over from each other."""
    cut_error: type[StreamCutError] = StreamCutError
    frame_error: type[FrameTooLarge] = FrameTooLarge
    timeout_error: type[TimeoutError] = TimeoutError
    collectors: tuple[Callable[[Outcome], None], ...] = ()

    def owned(self, checkpoint: StreamCheckpoint) -> RunSpec:
        """The same run under its next owner, who keeps what its first one kept."""
        keeps = self.keeps_request or checkpoint.base_request is not None
        replayable = self.replayable or checkpoint.replayable
        return replace(self, epoch=checkpoint.epoch, keeps_request=keeps, replayable=replayable)


@dataclass(frozen=True, slots=True)
class Services:
    """What runs share. `store` says whether checkpoints are put at all; the runner holds the store itself."""

    clock: Clock
    sinks: Sinks = field(default_factory=Sinks)
    profiles: ProfileBook = PROCESS_PROFILES
    budget: RetryBudget = PROCESS_BUDGET
    unsigned: UnsignedThinking = PROCESS_UNSIGNED
    responses: ResponseIds = PROCESS_RESPONSES

    def notice(self, kind: str, spec: RunSpec, detail: str) -> None:
        """Tell of something that moves no run."""
        self.sinks.record(Notice(kind, self.clock.wall(), spec.target, spec.run_id, detail))

    def repaired(self, spec: RunSpec) -> bytes | None:
        """The request without thinking that a cut left unsigned; None when there is none, or it is not
        wanted.
        """
        if spec.body is not None and spec.dialect == "openai-responses":
            return self.responses.rewritten(spec.body)
        if spec.body is None or spec.dialect != "anthropic" or not spec.policy.repair_history:
            return None
        return self.unsigned.cleaned(spec.body)

    def refusal(self, spec: RunSpec) -> bytes | None:
        """The error body for a request that its provider would misunderstand; None when it may be sent."""
        if spec.body is None or spec.mode != "recover" or spec.dialect != "openai-responses":
            return None
        return self.responses.refusal(spec.body)
