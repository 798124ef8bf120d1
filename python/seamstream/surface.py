"""What every byte reader's surface does with a request before its first attempt: is it ours, in which mode
does it run, and what will its driver have to know.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from .capture import collectors
from .clock import Clock
from .driver import RunSpec, Services
from .driver.spec import book_of
from .environment import apply_environment
from .errors import FrameTooLarge, StreamCutError
from .observe.hooks import Notice, Sink, Sinks
from .recognise import asks_for_stream, choices_asked, named_by
from .recovery.continuation.facts import Dialect
from .recovery.continuation.profile import Profile
from .recovery.continuation.profiles import ProfileBook
from .recovery.continuation.route import public_headers
from .recovery.policy import Mode, RecoveryPolicy

RUN_ID_HEADER: Final = "x-seamstream-run-id"
LENGTH_HEADERS: Final = frozenset({"content-length", "content-encoding"})
"""They speak of attempt 1, and the reader's stream may have more attempts."""
SHOULD_RETRY_HEADER: Final = "x-should-retry"


@dataclass(frozen=True, slots=True)
class Asked:
    """One request for an answer. `body` is None when it cannot be sent again."""

    dialect: Dialect
    target: str
    host: str
    headers: Mapping[str, str]
    body: bytes | None
    path: str


@dataclass(frozen=True, slots=True)
class TransportErrors:
    """The classes by which a run ends for good: ours, and the transport's own at the same time."""

    cut: type[StreamCutError]
    frame: type[FrameTooLarge]
    timeout: type[TimeoutError]


class Surface:
    """The part of a surface that no transport knows of. One serves any number of runs."""

    def __init__(
        self,
        policy: RecoveryPolicy | None,
        *,
        stores: bool,
        sinks: Iterable[Sink],
        clock: Clock,
        profiles: ProfileBook | Iterable[Profile] | None,
    ) -> None:
        self.policy = apply_environment(policy or RecoveryPolicy())
        self.services = Services(clock, Sinks(sinks), book_of(profiles))
        self._stores = stores
        self._distrusted: set[str] = set()

    def mode(self) -> Mode:
        """The mode of the next run."""
        return self.policy.effective_mode(self.services.clock.random())

    def spec(self, asked: Asked, mode: Literal["observe", "recover"], errors: TransportErrors) -> RunSpec:
        """The facts of a run. What cannot be sent again is only observed, and so is a distrusted target."""
        run_id, body = self.services.clock.uuid(), asked.body
        watched = body is None or self._is_distrusted(asked.target, run_id)
        return RunSpec(
            run_id=run_id,
            dialect=asked.dialect,
            target=asked.target,
            host=asked.host,
            reader="bytes",
            policy=self.policy,
            mode="observe" if watched else mode,
            body=body,
            path=asked.path,
            headers=public_headers(asked.headers) if self.policy.prepare_attempt is not None else {},
            wants_stream=body is None or asks_for_stream(asked.dialect, asked.path, body),
            choices=choices_asked(asked.dialect, body),
            **named_by(asked.headers),
            checkpoint_key=run_id if self._stores else None,
            cut_error=errors.cut,
            frame_error=errors.frame,
            timeout_error=errors.timeout,
            collectors=collectors(),
        )

    def _is_distrusted(self, target: str, run_id: str) -> bool:
        """A target whose streams break all the time, though nothing visibly broke, is only observed."""
        clock = self.services.clock
        why = self.services.budget.target(target).distrust(clock.monotonic())
        if why is None:
            self._distrusted.discard(target)
            return False
        if target not in self._distrusted:
            self._distrusted.add(target)
            self.services.sinks.record(Notice("target_distrusted", clock.wall(), target, run_id, why))
        return True
