"""One run of the model for a step, on record: no request leaves before the task's budget is charged for it.

The charge is a compare-and-set on the task, so it holds over all processes, and no restart gives it back.
What the run does in between is told to the ledger with the next write, at the latest with the turn itself.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from aiohttp import ClientConnectionError, ClientSession

from ..clock import Clock
from ..environment import apply_environment
from ..errors import StoreError
from ..recovery.digests import digest
from ..recovery.prepare import Attempt, AttemptRefusal, AttemptRequest, PrepareAnswer
from ..recovery.states import RunState
from ..stores.checkpoints import StreamCheckpointStore
from ..stream import stream
from ..types import Event, Plan, Turn
from .journal import TaskJournal
from .records import Fact, Kind
from .run_books import RunBooks
from .target import ModelTarget

_LOG: Final = logging.getLogger("seamstream.tasks")

Keep = Callable[[Turn], Awaitable[None]]
OnEvent = Callable[[Event], None]
_UNDER_WAY = (RunState.REQUESTING, RunState.STREAMING)
_SAME_ANSWER = (Plan.CONTINUE_TEXT.value, Plan.TRUNCATE_BEFORE_TOOL.value)


class BudgetSpent(Exception):
    """The task may not ask the model once more."""


class NoConnection(Exception):
    """The model could not be reached, however often it was tried."""


@dataclass(slots=True)
class ModelTurn:
    """Asks the model for the turn of the journal's current step."""

    journal: TaskJournal
    target: ModelTarget
    session: ClientSession
    checkpoints: StreamCheckpointStore
    clock: Clock
    on_event: OnEvent | None = None
    books: RunBooks = field(init=False)
    _broken: Exception | None = None

    def __post_init__(self) -> None:
        self.books = RunBooks(self.journal, self.target)

    async def run(self, document: Mapping[str, Any], headers: Mapping[str, str], keep: Keep) -> None:
        """Stream the turn, and let `keep` store it before the run's checkpoint goes.

        BudgetSpent when the task's budget refuses; NoConnection when no attempt reached the model;
        StoreError and StaleOwner as the journal raises them; else what `stream()` raises for an answer that
        did not come.
        """
        policy = self.target.policy.replace(prepare_attempt=self._prepare, on_store_error="fail")
        run_id = f"{self.journal.task.task_id}/{self.journal.current_step.step_id}"
        observed = apply_environment(policy).mode != "recover"
        if observed:
            await self._charge(1)
        run = stream(
            *(self.session, self.target.url),
            json=document,
            headers=headers,
            policy=policy,
            store=self.checkpoints,
            run_id=run_id,
            sinks=[self.books],
            clock=self.clock,
            profiles=self.target.profiles or None,
        )
        entered = False
        try:
            async with run:
                entered = True
                async for event in run:
                    self._tell(event)
                await keep(run.turn)
        except BaseException as error:
            if entered:
                self.books.note_bills(run.turn)
            if self._broken is not None:
                raise self._broken from error
            if isinstance(error, ClientConnectionError):
                raise NoConnection(f"{type(error).__name__}: {error}") from error
            raise

    def _tell(self, event: Event) -> None:
        """Who only looks on cannot end the work."""
        if self.on_event is not None:
            try:
                self.on_event(event)
            except Exception:
                self.on_event = None
                _LOG.exception("on_event failed; it is told no more of this turn")

    # ---------------------------------------------------------------- before an attempt

    async def _prepare(self, attempt: Attempt) -> PrepareAnswer:
        try:
            await self._charge(
                attempt.number, plan=attempt.plan, strategy=attempt.strategy, body=attempt.body
            )
        except BudgetSpent as error:
            self._broken = error
            return AttemptRefusal(str(error))
        except StoreError as error:
            self._broken = error
            return AttemptRefusal("the task's records could not be written")
        return await self._asked(attempt)

    async def _asked(self, attempt: Attempt) -> PrepareAnswer:
        """The user's own hook, behind ours."""
        hook = self.target.policy.prepare_attempt
        if hook is None:
            return None
        answer = hook(attempt)
        if answer is None or isinstance(answer, AttemptRequest | AttemptRefusal):
            return answer
        return await answer

    async def _charge(
        self, run_attempt: int, plan: str | None = None, strategy: str | None = None, body: bytes = b""
    ) -> None:
        journal, task = self.journal, self.journal.task
        step = journal.current_step
        earlier = task.step_attempts if task.step == step.number else 0
        if earlier:
            self._check_budget()
        number, kind = task.attempts + 1, _kind(plan, earlier)
        facts = [self._recovery(kind, plan)] if earlier else []
        facts.append(
            journal.fact(
                "attempt_started",
                attempt=number,
                kind=kind,
                run_attempt=run_attempt,
                model=task.model,
                input_digest=step.input_digest,
                request_digest=digest(body),
                plan=plan,
                strategy=strategy,
            )
        )
        await journal.change_task(
            *facts,
            attempts=number,
            step=step.number,
            step_attempts=earlier + 1,
            recoveries=task.recoveries + (1 if earlier else 0),
        )
        self.books.numbers[run_attempt] = number
        self.books.mine.add(run_attempt)

    def _check_budget(self) -> None:
        task = self.journal.task
        if task.recoveries >= task.max_recoveries:
            ended = f"; the last attempt ended with {error}" if (error := self.journal.last_error) else ""
            raise BudgetSpent(f"all {task.max_recoveries} recoveries of the task are used{ended}")
        if not task.allow_after_start and (self.books.began or not self.books.mine):
            raise BudgetSpent("the task does not allow another attempt after an answer has begun")

    def _recovery(self, kind: str, plan: str | None) -> Fact:
        task = self.journal.task
        return self.journal.fact(
            "recovery_started",
            attempt=task.attempts + 1,
            kind=kind,
            previous_attempt=task.attempts,
            remaining_budget=task.remaining_recoveries - 1,
            plan=plan,
        )


def _kind(plan: str | None, earlier: int) -> Kind | str:
    """What a later attempt does: it gets the rest of the same answer, or samples a new one."""
    if plan in _SAME_ANSWER:
        return "transport"
    return "resample" if earlier else ""
