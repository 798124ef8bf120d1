"""Runs without sockets: a driver, a clock that tests move, and replies that are written down."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from seamstream import ProfileBook, RecoveryPolicy
from seamstream.driver import Driver, RunSpec, Services
from seamstream.effects import Broke, Open, Opened, OpenFailed, Result
from seamstream.observe import Notice, RunEvent
from seamstream.observe.hooks import Sinks
from seamstream.recovery.causes import BodyEnd
from seamstream.recovery.retry_budget import RetryBudget
from seamstream.stores.checkpoints import StreamCheckpoint
from seamstream.testing import Answer, DeterministicModel, Dialect, FakeClock, Text, tokens
from tests.support.pure_run import SyncRun, run_sync

QUESTION: dict[str, Any] = {
    "model": "m",
    "stream": True,
    "max_tokens": 500,
    "messages": [{"role": "user", "content": "Why is the sea salt?"}],
    # as others want it; those above do not look at it
    "input": "Why is the sea salt?",
    "store": False,
    "contents": [{"role": "user", "parts": [{"text": "Why is the sea salt?"}]}],
}
ANSWER = Answer(
    (Text(tokens("Rivers carry salt from the rocks to the sea, and the sea keeps it when water rises.")),)
)
RESET = Broke(BodyEnd.RESET, ConnectionResetError(104, "reset"))


@dataclass
class Reply:
    """One attempt's fate: a head, and a body that is the model's unless `chunks` says otherwise."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    cut_after_events: int | None = None
    end: Broke | None = None
    chunks: Iterable[bytes | Result] | None = None
    fails_with: Exception | None = None


HEALTHY = Reply()


def cut(after_events: int = 8, end: Broke = RESET) -> Reply:
    return Reply(cut_after_events=after_events, end=end)


class Stage:
    """What one test runs on."""

    def __init__(
        self,
        dialect: Dialect = "openai-chat",
        *,
        model: DeterministicModel | None = None,
        policy: RecoveryPolicy | None = None,
        budget: RetryBudget | None = None,
        checkpoint: StreamCheckpoint | None = None,
        profiles: ProfileBook | None = None,
        **spec: Any,
    ) -> None:
        self.clock = FakeClock()
        self.model = model or DeterministicModel(ANSWER)
        self.dialect: Dialect = dialect
        self.records: list[RunEvent | Notice] = []
        self.budget = budget or RetryBudget()
        fields: dict[str, Any] = {
            "run_id": "run-1",
            "target": "http://provider.test:80",
            "host": "provider.test",
            "reader": "bytes",
            "mode": "recover",
            "body": json.dumps(QUESTION).encode(),
            **spec,
        }
        services = Services(self.clock, Sinks([self]), profiles or ProfileBook(), self.budget)
        run = RunSpec(dialect=dialect, policy=policy or RecoveryPolicy(), **fields)
        self.driver = Driver(run, services, checkpoint)
        self.replies: list[Reply] = []
        self.waits: list[float] = []

    def record(self, record: Any) -> None:
        self.records.append(record)

    def tick(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.clock.tick(seconds)

    def events(self) -> list[bytes]:
        """The events of the unbroken answer."""
        return self.model.reply(self.dialect, QUESTION).events

    def unbroken(self) -> bytes:
        return b"".join(self.events())

    def play(self, *replies: Reply) -> SyncRun:
        """Run to the end; the last reply answers all further attempts."""
        self.replies = list(replies)
        return run_sync(self.driver, self._answer, self.tick)

    def _answer(self, effect: Open) -> tuple[Opened | OpenFailed, Sequence[bytes | Result] | Iterable[Any]]:
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        if reply.fails_with is not None:
            return OpenFailed(reply.fails_with), ()
        if reply.status != 200:
            return Opened(reply.status, reply.headers, False, reply.body), ()
        asked = QUESTION if effect.body is None else json.loads(effect.body)
        said = self.model.reply(self.dialect, asked)
        if said.status != 200:
            return Opened(said.status, said.headers, False, said.body), ()
        head = Opened(200, {"content-type": "text/event-stream", **reply.headers}, True)
        if reply.chunks is not None:
            return head, reply.chunks
        kept = said.events[: reply.cut_after_events]
        return head, [*kept, *([reply.end] if reply.end is not None else [])]
